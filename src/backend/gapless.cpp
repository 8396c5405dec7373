#include "backend/gapless.hpp"

#include <type_traits>

#include "tensor/layout.hpp"

namespace rondo::backend {

namespace {

template <class C>
concept HasInOut = requires(const C& c) {
  c.in;
  c.out;
};

// Who uses a rooted call's big side.
template <class C>
bool uses_in(const C&, Seat) noexcept {
  return true;
}
bool uses_in(const Scatter& c, Seat seat) noexcept { return c.root == seat.rank; }
bool uses_in(const ScatterV& c, Seat seat) noexcept { return c.root == seat.rank; }
template <class C>
bool uses_out(const C&, Seat) noexcept {
  return true;
}
bool uses_out(const Reduce& c, Seat seat) noexcept { return c.root == seat.rank; }
bool uses_out(const Gather& c, Seat seat) noexcept { return c.root == seat.rank; }
bool uses_out(const GatherV& c, Seat seat) noexcept { return c.root == seat.rank; }

}  // namespace

bool is_gapless(const Collective& call) noexcept {
  return std::visit(
      []<class C>(const C& c) {
        if constexpr (HasInOut<C>) {
          return c.in.contiguous() && c.out.contiguous();
        } else if constexpr (std::is_same_v<C, Broadcast>) {
          return c.data.contiguous();
        } else {
          return true;
        }
      },
      call);
}

Gapless::Gapless(const Collective& call, Seat seat) : call_(rewrite(call, seat)) {}

Collective Gapless::rewrite(const Collective& call, Seat seat) {
  return std::visit(
      [&]<class C>(const C& c) -> Collective {
        C changed = c;
        if constexpr (HasInOut<C>) {
          changed.in = readable(c.in, uses_in(c, seat));
          changed.out = writable(c.out, uses_out(c, seat), false);
        } else if constexpr (std::is_same_v<C, Broadcast>) {
          changed.data = writable(c.data, true, c.root == seat.rank);
        }
        return changed;
      },
      call);
}

ConstView Gapless::readable(const ConstView& view, bool used) {
  if (view.contiguous() || !used) return view;
  inputs_.push_back(std::make_unique_for_overwrite<std::byte[]>(view.bytes()));
  std::byte* memory = inputs_.back().get();
  tensor::pack(view, {memory, view.bytes()});
  return ConstView(view.dtype(), memory, view.shape());
}

View Gapless::writable(const View& view, bool used, bool filled) {
  if (view.contiguous() || !used) return view;
  outputs_.push_back({view, std::make_unique_for_overwrite<std::byte[]>(view.bytes())});
  std::byte* memory = outputs_.back().memory.get();
  if (filled) tensor::pack(view, {memory, view.bytes()});
  return View(view.dtype(), memory, view.shape());
}

void Gapless::finish() {
  for (const Pair& each : outputs_) {
    tensor::unpack({each.memory.get(), each.original.bytes()}, each.original);
  }
}

}  // namespace rondo::backend
