// The producer's half of the ring, module/ring_core.h, as the kernel runs it: here on a thread.
//
// A letter in FAIRSWITCH_WEAK_ takes the order out of that access, so that a test can show that it
// would be noticed (device_ring_order_test.cpp).
#pragma once

#include <cstring>

#ifdef FAIRSWITCH_WEAK_A
#define FSW_LOAD_ACQUIRE(pointer) __atomic_load_n(pointer, __ATOMIC_RELAXED)
#else
#define FSW_LOAD_ACQUIRE(pointer) __atomic_load_n(pointer, __ATOMIC_ACQUIRE)
#endif
#ifdef FAIRSWITCH_WEAK_B
#define FSW_STORE_RELEASE(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELAXED)
#else
#define FSW_STORE_RELEASE(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELEASE)
#endif
#define FSW_STORE(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELAXED)
#define FSW_MEMCPY(to, from, bytes) std::memcpy(to, from, bytes)
#include "module/ring_core.h"
