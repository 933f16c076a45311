package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// outputName is the file with the output of the benchmarks, for benchstat.
const outputName = "bench.txt"

// measure runs the benchmarks, which write their results to dir. Their output goes to out and to a
// file in dir.
func measure(ctx context.Context, o options, dir string, out io.Writer) (err error) {
	dir, err = filepath.Abs(dir) // the tests run in another directory
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil { //nolint:gosec // the caller chooses it
		return fmt.Errorf("make the directory of the results: %w", err)
	}
	file, err := os.Create(filepath.Join(dir, outputName)) //nolint:gosec // the caller chooses it
	if err != nil {
		return fmt.Errorf("keep the output: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	cmd := exec.CommandContext(ctx, "go", "test", "-run=^$", "-bench="+o.bench, "-benchtime=1x", //nolint:gosec // as asked
		"-count="+strconv.Itoa(o.count), "-timeout=6h", ".", "-scale="+o.scale, "-results="+dir)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, file), os.Stderr
	// The tests are a child of the go command. They end with it, and so do their servers.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run the benchmarks: %w", err)
	}
	return nil
}
