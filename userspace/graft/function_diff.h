// Compares two compilations of fair.c function by function.
//
// Functions are compared by what they do: machine code, and for each relocation what it refers to.
// Names that the compiler numbers (__already_done.3, CSWTCH.1805, .LC7) are compared by content.
// Line numbers in bug tables are ignored: an added line moves all that follow.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "userspace/graft/code_tables.h"
#include "userspace/graft/elf_object.h"

namespace fairswitch {

// Name of each function -> a text that is equal exactly if the function is.
using FunctionTexts = std::map<std::string, std::string>;

FunctionTexts function_texts(const Object& object, const std::string& origin);

// The same for machine code and references alone, without tables, and with the jumps of static keys
// left out: equal before and after objtool and the livepatch link.
FunctionTexts code_texts(const Object& object, const std::string& origin);

// Functions that differ, or are in only one of the two. A .cold part counts as its function.
std::set<std::string> differing_functions(const FunctionTexts& a, const FunctionTexts& b);

// Whether a symbol is one of the module's gates or taps: fsw_ or __fsw_.
bool is_own_symbol(const std::string& name);
// Functions of `object` that hold a gate or a tap, inlined ones included.
std::set<std::string> functions_with_gates(const Object& object);

// Bytes of code of a function, its .cold part included.
uint64_t code_bytes(const Object& object, const std::string& function);

// "foo" for "foo.cold", else the name itself.
std::string owner_of(const std::string& function);
// Whether the compiler made it from another function and may have changed its parameters.
bool is_clone(const std::string& function);
// "__already_done" for "__already_done.3"; a name without a number stays.
std::string without_number(const std::string& name);
// What the undefined-behaviour sanitizer is told about a place: where it is, and types. Read when
// the sanitizer complains, and marked so that it does that once.
bool is_sanitizer_data(const std::string& section_name);
// The graft names these data and its warnings, since linking renames their sections.
constexpr std::string_view kSanitizerSymbol = "__fsw_sanitizer_";
constexpr std::string_view kWarningsSymbol = "__fsw_warnings";
// And each string that code refers to: merged, it can't be told from other constants.
constexpr std::string_view kStringSymbol = "__fsw_string_";
bool is_sanitizer_symbol(const Symbol& symbol, const Section& section);

}  // namespace fairswitch
