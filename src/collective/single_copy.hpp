#pragma once
/// Collectives among ranks that read each other's memory: larger data are copied, or combined, straight from
/// where they lie. (Chakraborty et al., Contention-aware kernel-assisted MPI collectives, CLUSTER 2017;
/// Hashmi et al., Designing efficient shared address space reduction collectives, IPDPS 2018.)
///
/// The ranks meet and tell each other where their memory lies: in a heap that all of them address, or
/// elsewhere, where the system copies it (base/process_memory.hpp) if it lets them. What all have told
/// decides, so all decide alike. Then everybody reads, and a step tells that the reading is over: before it
/// no rank may leave, nor write what others read.
///
/// Each function is true when it has done the call. Otherwise it has not, but may have made the first step,
/// and nothing is to be assumed of the notes. Arguments are those of the flat algorithm of the name.

#include "collective/algorithms.hpp"
#include "collective/steps.hpp"

namespace rondo::collective::single_copy {

bool all_reduce(Channel&, Steps&, ConstBytes in, Bytes out, const Reduction&);
bool reduce(Channel&, Steps&, ConstBytes in, Bytes out, int root, const Reduction&);
bool reduce_scatter(Channel&, Steps&, ConstBytes in, Bytes out, Counts counts, const Reduction&);
bool all_gather(Channel&, Steps&, ConstBytes in, Bytes out, Counts sizes);
bool all_to_all(Channel&, Steps&, ConstBytes in, Bytes out, std::size_t part_bytes);
bool gather(Channel&, Steps&, ConstBytes in, Bytes out, int root);
bool scatter(Channel&, Steps&, ConstBytes in, Bytes out, int root);
bool broadcast(Channel&, Steps&, Bytes data, int root);

}  // namespace rondo::collective::single_copy
