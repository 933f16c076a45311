package main_test

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

var update = flag.Bool("update", false, "write the golden files")

// binaryVariable names the program that the tests run.
const binaryVariable = "LEAT_TEST_BINARY"

// TestMain builds leat once, and runs the tests in a process within this one, so that the
// program can be removed behind them.
//
//leat:level 1
func TestMain(m *testing.M) {
	testenv.Supervise()
	if os.Getenv(binaryVariable) != "" {
		if err := testenv.SideBySide(); err != nil {
			log.Fatal(err)
		}
		testenv.Main(m)
	}
	os.Exit(withBinary())
}

func withBinary() int {
	dir, err := os.MkdirTemp("", "leat-test-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "leat")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "go build:", err)
		return 1
	}
	tests := exec.Command(os.Args[0], os.Args[1:]...)
	tests.Env = append(os.Environ(), binaryVariable+"="+binary, "TZ=UTC")
	tests.Stdin, tests.Stdout, tests.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := tests.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
