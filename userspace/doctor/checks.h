// The doctor's checks: each looks at one thing and says what it found and what to do.
// Those of rivals.h belong to them.
#pragma once

#include "userspace/doctor/finding.h"
#include "userspace/doctor/subject.h"

namespace fairswitch {

// The kernel as it was built and, if it runs, as it is set.
Finding check_kernel(const Subject& subject);
Finding check_settings(const Subject& subject);
Finding check_livepatch(const Subject& subject);
Finding check_stack_traces(const Subject& subject);
Finding check_ftrace(const Subject& subject);

// What a build is made from.
Finding check_headers(const Subject& subject);
Finding check_source(const Subject& subject);
Finding check_compiler(const Subject& subject);
Finding check_image(const Subject& subject);
Finding check_symbols(const Subject& subject);
Finding check_coccinelle(const Subject& subject);
Finding check_make(const Subject& subject);
// Or the module that is built already.
Finding check_module(const Subject& subject);

// Who may load a module.
Finding check_signatures(const Subject& subject);
Finding check_lockdown(const Subject& subject);
Finding check_secure_boot(const Subject& subject);

// What fair.c turned out to be: the identity proof, and a finding for each variant.
Findings check_fair(const Subject& subject);

}  // namespace fairswitch
