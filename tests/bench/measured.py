"""measured.py FILE NAME EXPECTED COMMAND...: runs it, its output thrown away but for the count of
its lines, and appends "NAME seconds cpu-seconds peak-KiB lines" to FILE. Fails if the command does,
or if no line holds EXPECTED."""
import resource
import subprocess
import sys
import time


def main():
    out, name, expected, command = sys.argv[1], sys.argv[2], sys.argv[3].encode(), sys.argv[4:]
    lines, found = 0, False
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            lines += 1
            found = found or expected in line
    seconds = time.monotonic() - begin
    if process.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)}: ended with {process.returncode}"
                 f"{'' if found else f', and never said {expected.decode()!r}'}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(out, "a", encoding="utf-8") as file:
        file.write(f"{name} {seconds:.3f} {used.ru_utime + used.ru_stime:.3f} {used.ru_maxrss} "
                   f"{lines}\n")


main()
