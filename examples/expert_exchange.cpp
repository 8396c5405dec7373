/// Mixture of experts: every rank holds one expert, tokens travel to the expert they need and back again.

#include <cstdio>

#include "ranks.hpp"

/// Returns whether every token came back to its place, worked on by its own expert.
bool exchange(const rondo::Group& group) {
  const auto ranks = static_cast<std::size_t>(group.size());
  const auto rank = static_cast<std::size_t>(group.rank());

  // This rank has (rank + 1) tokens for expert 0, rank for expert 1, ... A token is a row of two numbers;
  // the rows lie sorted by expert.
  std::vector<std::size_t> send_counts(ranks);
  std::vector<float> tokens;
  for (std::size_t expert = 0; expert < ranks; ++expert) {
    send_counts[expert] = expert <= rank ? rank + 1 - expert : 0;
    for (std::size_t i = 0; i < send_counts[expert]; ++i) {
      tokens.insert(tokens.end(), {static_cast<float>(rank), static_cast<float>(expert)});
    }
  }
  const auto rows = static_cast<std::int64_t>(tokens.size() / 2);

  // The counts are exchanged once; the plan then serves both ways and every further batch like it.
  const rondo::ExchangePlan plan = group.plan_all_to_all_v(send_counts);
  const rondo::Tensor arrived = group.all_to_all_v(rondo::Tensor(tokens, {rows, 2}), plan);
  rondo::Tensor worked_on = arrived.clone();
  for (float& number : worked_on.span<float>()) number += 100.0F * static_cast<float>(group.rank() + 1);
  const rondo::Tensor home = group.all_to_all_v(worked_on, plan.reverse());

  std::printf("rank %d: sent %d tokens, worked on %d\n", group.rank(), static_cast<int>(rows),
              static_cast<int>(arrived.shape()[0]));
  const auto back = home.span<float>();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const float expert = tokens[i | 1U];  // the second number of the row
    if (back[i] != tokens[i] + 100.0F * (expert + 1)) return false;
  }
  return back.size() == tokens.size();
}

int main() { return run_ranks(4, exchange); }
