package main_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/relay"
)

// answer runs a command at a terminal, at which answer is typed.
func (s *session) answer(answer string, args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	typing, terminal, err := pty.Open()
	require.NoError(s.t, err)
	defer typing.Close()
	defer terminal.Close()
	_, err = typing.WriteString(answer + "\n")
	require.NoError(s.t, err)
	cmd := exec.CommandContext(ctx, os.Getenv(binaryVariable), args...)
	cmd.Env, cmd.Stdin = s.env, terminal
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	_ = cmd.Run()
	return result{out.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// On a terminal leat asks, and takes nothing but what it has asked for.
func TestTerminal(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "bad"), placed("m-2", "orders", "order-2", "bad"))
	s.relay(t, "", relay.Policy{}, ifBad(errors.New("no")))
	o := newSession(t, s.URL)
	redrive := []string{"parked", "redrive", "--key", "order-1", "--topic", "orders", "--reason", "fixed"}
	r := o.answer("n", redrive...)
	require.Equal(t, 4, r.code, r.err)
	require.Empty(t, r.out)
	require.Contains(t, r.err, "Would redrive 1 record: parked in group default, topic orders, key order-1. Go on? [y/N]")
	r = o.answer("y", redrive...)
	require.Zero(t, r.code, r.err)
	require.Equal(t, "Redrove 1 record.\n", r.out)

	drop := []string{"parked", "drop", "--id", "m-2", "--reason", "obsolete"}
	r = o.answer("y", drop...)
	require.Equal(t, 4, r.code, r.err)
	require.Contains(t, r.err, `Type "m-2": `)
	require.Equal(t, "Dropped 1 record.\n", o.answer("m-2", drop...).out)
	require.Equal(t, 4, o.answer("yes", "groups", "remove", "default", "--reason", "obsolete").code)
	require.Equal(t, "Removed group default, dropped 1 record.\n", o.answer("default", "groups", "remove", "default", "--reason", "obsolete").out)
}
