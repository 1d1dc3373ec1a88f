// Every atomic access to shared ring memory goes through here. The letters are those of the picture
// in module/uapi/fairswitch/device.h. The memory is shared with the kernel (or, in tests, with
// another thread), so these are accesses to plain integers, not std::atomic.
#pragma once

#include <linux/types.h>

#include <cstdint>

namespace fairswitch {

// C: pairs with the producer's release (B): the records before this head are whole.
inline std::uint64_t load_head(const __u64* head) {
    return __atomic_load_n(head, __ATOMIC_ACQUIRE);
}

// D: pairs with the producer's acquire (A): what is before this tail has been read.
inline void store_tail(__u64* tail, std::uint64_t value) {
    __atomic_store_n(tail, value, __ATOMIC_RELEASE);
}

// A counter that the other side writes; ordered against nothing.
inline std::uint64_t load_counter(const __u64* counter) {
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

}  // namespace fairswitch
