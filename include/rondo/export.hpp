#pragma once
/// What the shared library shows: what these headers declare, and nothing else.

/// Stands before the name of a namespace: what is declared there can be called, thrown and caught across the
/// border of the shared library. The library is compiled with everything else hidden, and its callers may be.
#define RONDO_EXPORT [[gnu::visibility("default")]]
