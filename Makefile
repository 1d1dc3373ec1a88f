# Entry points. Each does all its own set-up; see scripts/ for what they run.
#   make demo | test | bench | build | grafts | unit | tsan | kernel-test | cells | lab | clean | help
TARGET ?= 6.12

.PHONY: help demo test bench build grafts unit tsan fuzz lab-test kernel-test replay-test cells \
	experiments lab clean

help:
	@echo 'make demo         set up, build, and compare two arms on a stock kernel in the lab'
	@echo 'make test         set up, build, and run unit tests and kernel tests in the lab'
	@echo 'make bench        what recording costs, beside its rivals: six tables in ten minutes'
	@echo 'make build        set up, build user space, fetch the kernel, build the module'
	@echo 'make grafts       the module for more flavours (amd64, rt): 1 GB of downloads, no tests'
	@echo 'make unit         unit tests only              make tsan  ring tests, ThreadSanitizer'
	@echo 'make fuzz         a short run of the fuzzers'
	@echo 'make kernel-test  kernel tests only            make lab-test  tests of the lab itself'
	@echo 'make replay-test  one load recorded three times, to the byte, and what an arm changes in it'
	@echo 'make cells        each variant in both positions on each kernel, and the table of it'
	@echo 'make experiments  the posted experiments in the lab, beside the posted figures'
	@echo 'make lab          a shell command in the lab, such as'
	@echo '                  make lab COMMAND="fairswitch load fairswitch.ko && fairswitch status"'
	@echo 'make clean        remove build/ (runs/ and the kernel cache stay)'
	@echo 'TARGET=$(TARGET) (known: see scripts/lab.d/targets)'

demo:
	@scripts/demo $(TARGET)

test:
	@scripts/test $(TARGET)

bench:
	@scripts/bench $(TARGET)

build:
	@scripts/build $(TARGET)

grafts:
	@scripts/grafts

unit tsan fuzz cells:
	@scripts/test $(TARGET) $@

lab-test kernel-test replay-test:
	@scripts/test $(TARGET) $(@:-test=)

experiments:
	@scripts/run-experiments

lab: build
	@scripts/lab run $(TARGET) --file build/userspace/cli/fairswitch \
		--file build/graft/$(TARGET)/fairswitch.ko -- '$(or $(COMMAND),fairswitch --help)'

clean:
	rm -rf build
