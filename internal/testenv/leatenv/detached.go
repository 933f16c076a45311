package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/leat-go/leat/internal/testenv"
)

// up starts a process that holds the services, and waits until it has them.
func up(ctx context.Context, services string) error {
	if err := status(ctx); !errors.Is(err, testenv.ErrNoDetachedSet) {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "hold", "-services", services)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	report, err := io.ReadAll(bufio.NewReader(out)) // the process closes its output when it has printed everything
	if err != nil {
		return err
	}
	if err := status(ctx); err != nil {
		return errors.Join(errors.New(string(report)), err)
	}

	return cmd.Process.Release()
}

// hold keeps the services until down is called.
func hold(ctx context.Context, needs testenv.Needs) error {
	env, err := testenv.Start(ctx, needs)
	if err != nil {
		fmt.Println(err)

		return err
	}
	if err := testenv.ServeDetached(ctx, env, func() { _ = os.Stdout.Close() }); err != nil {
		fmt.Println(err)

		return err
	}

	return nil
}

// status prints the services of the detached set.
func status(ctx context.Context) error {
	services, err := testenv.Detached(ctx)
	if err != nil {
		return err
	}
	fmt.Print(testenv.Describe(services))
	for _, s := range services {
		fmt.Println("export", s.Assignment())
	}

	return nil
}
