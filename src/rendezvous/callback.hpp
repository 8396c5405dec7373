#pragma once
/// Rendezvous over an exchange that the caller brings: MPI's, a store's, a launcher's of its own.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rendezvous/rendezvous.hpp"

namespace rondo::rendezvous {

/// Takes this rank's blob and returns those of all, by rank. The same type as rondo::Exchange.
using Callback = std::function<std::vector<Blob>(const Blob& mine)>;

/// Every blob gets a head that says which exchange, rank and size it belongs to and how long it is: exchanges
/// of others are easily wrong in just these (blobs in the order of arrival, those of the exchange before, cut
/// at a zero). What `exchange` throws passes through. Blobs of a wrong number or with another head are a
/// Problem(invalid_argument) with both sides' values.
std::unique_ptr<Rendezvous> join_callback(int rank, int size, Callback exchange);

}  // namespace rondo::rendezvous
