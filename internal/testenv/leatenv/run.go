package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/testenv"
)

// run starts missing services, runs the command with the addresses in its environment, and stops
// the services that it started.
func run(ctx context.Context, needs testenv.Needs, argv []string) (err error) {
	if len(argv) == 0 {
		return errUsage
	}
	env, err := testenv.Start(ctx, needs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	fmt.Fprintf(os.Stderr, "services of this run:\n%s", env.Describe())

	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env.Environ()...)
	// Ctrl-C reaches the command without our help. Another signal is passed on, and the servers stay until
	// the command has ended.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute

	return commandFailure(cmd.Run())
}

// commandError is the failure of the command, which has reported the cause itself.
type commandError struct{ status int }

func (e *commandError) Error() string {
	return fmt.Sprintf("the command ended with status %d", e.status)
}

// commandFailure distinguishes the command's own failure from a failure to run it.
func commandFailure(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return &commandError{status: exit.ExitCode()}
	}

	return err
}

// foreground runs a broker until it is interrupted.
func foreground(ctx context.Context) error {
	env, err := testenv.Start(ctx, testenv.Needs{Kafka: true})
	if err != nil {
		return err
	}
	fmt.Printf("%s", env.Describe())
	for _, assignment := range env.Environ() {
		fmt.Println("export", assignment)
	}
	if env.KafkaReal {
		fmt.Println("Ctrl-C stops it.")
	}
	<-ctx.Done()

	return env.Close()
}
