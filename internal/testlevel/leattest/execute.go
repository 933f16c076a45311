package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// execute turns this process into the test binary of the package in whose directory it runs. It makes the
// binary skip the tests that the file of a selection names for that directory.
//
// With -exec, go test does not ask a test for the log of the files and variables that it reads. That log
// is the key of cached results, and go test still uses it if it exists.
func execute(args []string) error {
	if len(args) < 2 {
		return errors.New("exec: the file of a selection and a test binary are needed")
	}
	text, err := os.ReadFile(args[0]) //nolint:gosec // written by run
	if err != nil {
		return err
	}
	var skip map[string]string
	if err := json.Unmarshal(text, &skip); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	binary := args[1]
	command := slices.Concat(args[1:], []string{"-test.testlogfile=" + filepath.Join(filepath.Dir(binary), "testlog.txt")})
	if pattern := skip[dir]; pattern != "" {
		command = append(command, "-test.skip="+pattern)
	}
	return syscall.Exec(binary, command, os.Environ()) //nolint:gosec // go test has built it
}
