// Finds calls in C source, without being fooled by comments and strings.
//
// Used to count what a semantic patch did: a patch that silently skipped a function, or matched it
// twice, must be noticed, and Coccinelle's exit code tells neither.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fairswitch {

struct CCall {
    std::string function;  // the function whose body holds the call; empty at file level
    std::string callee;
    std::string arguments;  // as written, comments and strings blanked
};

// Comments and the inside of string and character literals become blanks; length and line breaks
// stay as they are.
std::string blank_comments_and_strings(std::string_view source);

// All calls in `source` of identifiers that begin with `prefix`, in order.
std::vector<CCall> find_calls(std::string_view source, std::string_view prefix);

// A function's definition, from its first word to its closing brace.
struct CFunction {
    std::string name;
    size_t begin;
    size_t end;  // behind the brace
};

// All of them, in order; of a function that is defined twice (#ifdef ... #else) both.
std::vector<CFunction> find_functions(std::string_view source);

// Whether `source` defines a function of that name.
bool defines_function(std::string_view source, std::string_view name);

}  // namespace fairswitch
