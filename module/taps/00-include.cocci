// SPDX-License-Identifier: GPL-2.0
// The gates and taps, after everything that fair.c includes.
// expect-include: fairswitch_graft.h
@@
@@
 #include "autogroup.h"
+#include "fairswitch_graft.h"
