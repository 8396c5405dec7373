// A rank of a mixed ring: the work of ring_peer.py, in the same order. The first argument is the folder for
// what came out, one file per piece of work; the others are counts of elements.

#include <complex>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <rondo/rondo.hpp>
#include <string>
#include <vector>

namespace {

using namespace rondo;

// The values of ring_peer.py: eighths below 32 for floats, whole numbers else.
void fill(std::byte* at, DType dtype, int rank, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto whole = static_cast<unsigned>((i * 7 + static_cast<std::size_t>(rank) * 13 + 3) % 251);
    const float part = static_cast<float>(whole) / 8;
    const auto put = [&](auto value) { std::memcpy(at + i * sizeof value, &value, sizeof value); };
    if (dtype == DType::float32) put(part);
    if (dtype == DType::float16) put(float16(part));
    if (dtype == DType::bfloat16) put(bfloat16(part));
    if (dtype == DType::int32) put(static_cast<std::int32_t>(whole));
    if (dtype == DType::uint8) put(static_cast<std::uint8_t>(whole));
    if (dtype == DType::bool_) put(static_cast<std::uint8_t>(whole % 2));
    if (dtype == DType::complex64) put(std::complex<float>(part, static_cast<float>(whole % 5)));
  }
}

void work(const std::string& folder, std::span<const std::size_t> counts) {
  const Group group = init(true, Backend::ring);
  const int rank = group.rank();
  const int size = group.size();
  const auto keep = [&](const std::string& name, const std::vector<std::byte>& bytes) {
    std::ofstream out(folder + '/' + name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::int32, DType::uint8,
                            DType::bool_, DType::complex64})
    for (const std::size_t count : counts) {
      const std::string name = std::string(to_string(dtype)) + '-' + std::to_string(count) + '-';
      std::vector<std::byte> in(count * size_of(dtype));
      fill(in.data(), dtype, rank, count);
      const ConstView mine(dtype, in.data(), count);
      std::vector<std::byte> out(in.size());
      const View result(dtype, out.data(), count);
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min}) {
        group.all_reduce(mine, result, op);
        keep(name + std::string(to_string(op)), out);
      }
      std::vector<std::byte> all(in.size() * static_cast<std::size_t>(size));
      group.all_gather(mine, View(dtype, all.data(), count * static_cast<std::size_t>(size)));
      keep(name + "gather", all);
      const auto send = [&] { group.send(mine, (rank + 1) % size); };
      if (rank % 2 == 0) send();
      group.recv_into(result, (rank + size - 1) % size);
      if (rank % 2 == 1) send();
      keep(name + "recv", out);
    }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::size_t> counts;
  for (int i = 2; i < argc; ++i) counts.push_back(std::stoul(argv[i]));
  try {
    work(argv[1], counts);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
