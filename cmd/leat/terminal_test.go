package main_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
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

// converse runs a command at a terminal: as soon as it asks, meanwhile happens, and then
// answer is typed.
func (s *session) converse(answer string, meanwhile func(question string), args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	typing, terminal, err := pty.Open()
	require.NoError(s.t, err)
	defer typing.Close()
	defer terminal.Close()
	cmd := exec.CommandContext(ctx, os.Getenv(binaryVariable), args...)
	cmd.Env, cmd.Stdin = s.env, terminal
	var out, told bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	asked := false
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(stderr, one); err != nil {
			break
		}
		told.Write(one)
		if text := told.String(); !asked && (strings.HasSuffix(text, "[y/N] ") || strings.Contains(text, "Type ") && strings.HasSuffix(text, ": ")) {
			asked = true
			meanwhile(text)
			_, err = typing.WriteString(answer + "\n")
			require.NoError(s.t, err)
		}
	}
	_ = cmd.Wait()
	require.True(s.t, asked, told.String())
	return result{out.String(), told.String(), cmd.ProcessState.ExitCode()}
}

// What is set aside while the operator reads the plan is not part of it.
func TestTerminal_NoMoreThanConfirmed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	park := func(ids ...string) {
		for _, id := range ids {
			s.enqueue(t, placed(id, "orders", id, "bad"))
		}
		s.relay(t, "", ifBad(errors.New("no")))
	}
	park("m-1", "m-2")
	o := newSession(t, s.URL)
	r := o.converse("2", func(string) { park("m-3") }, "parked", "drop", "--all", "--reason", "obsolete")
	require.Equal(t, "Dropped 2 records.\n", r.out, r.err)
	require.Contains(t, o.leat("parked", "list").out, "m-3")
	r = o.converse("1", func(string) {
		park("m-4")
		require.Zero(t, o.leat("parked", "drop", "--id", "m-3", "--reason", "obsolete", "--yes").code)
	}, "parked", "drop", "--topic", "orders", "--reason", "obsolete")
	require.Equal(t, "Dropped 0 records.\n", r.out, r.err)
	require.Contains(t, o.leat("parked", "list").out, "m-4")
}

// The same of an inbox.
func TestTerminal_NoMoreThanConfirmedOfAnInbox(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.consume(t)
	o := newSession(t, s.URL)
	r := o.converse("3", func(string) { s.parkInbox(t, "m-8", "order-8") }, "inbox", "parked", "drop", "--consumer", "loyalty", "--all", "--reason", "obsolete")
	require.Equal(t, "Dropped 3 messages.\n", r.out, r.err)
	require.Contains(t, o.leat("inbox", "parked", "list").out, "m-8")
}

// A skip names the record, and drops no other one.
func TestTerminal_Skip(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "bad"), placed("m-2", "orders", "order-1", "bad"), placed("m-3", "orders", "order-1", "bad"))
	s.relay(t, "", ifBad(errors.New("no")))
	s.consume(t)
	o := newSession(t, s.URL)
	skip := []string{"parked", "skip", "--topic", "orders", "--key", "order-1", "--reason", "obsolete"}
	dry := o.leat(append(skip, "--dry-run")...).out
	require.Regexp(t, `^Would drop 1 record of 1 key, the oldest set aside \S+ ago: seq 1, id m-1, the first of key order-1 of topic orders`, dry)
	r := o.converse("order-1", func(question string) {
		require.Contains(t, question, "seq 1, id m-1")
		require.Zero(t, o.leat("parked", "drop", "--id", "m-1", "--reason", "obsolete", "--yes").code)
		s.relay(t, "", ifBad(errors.New("no")))
	}, skip...)
	require.Equal(t, 4, r.code, r.err)
	require.Contains(t, r.err, "the key has another first record by now: seq 2, id m-2, not seq 1, id m-1")
	require.Contains(t, o.leat("parked", "list").out, "m-2")
	require.Equal(t, "Dropped 1 record.\n", o.leat(append(skip, "--yes")...).out)

	skip = []string{"inbox", "parked", "skip", "--consumer", "loyalty", "--key", "order-2", "--reason", "obsolete"}
	r = o.converse("order-2", func(question string) {
		require.Contains(t, question, "no 1, id m-2")
		require.Zero(t, o.leat("inbox", "parked", "drop", "--consumer", "loyalty", "--key", "order-2", "--reason", "obsolete", "--yes").code)
		s.parkInbox(t, "m-12", "order-2")
	}, skip...)
	require.Equal(t, 4, r.code, r.err)
	require.Contains(t, r.err, "id m-12, not no 1, id m-2")
	require.Equal(t, "Dropped 1 message.\n", o.leat(append(skip, "--yes")...).out)
}

// On a terminal leat asks, and takes nothing but what it has asked for.
func TestTerminal(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.enqueue(t, placed("m-1", "orders", "order-1", "bad"), placed("m-2", "orders", "order-2", "bad"))
	s.relay(t, "", ifBad(errors.New("no")))
	o := newSession(t, s.URL)
	redrive := []string{"parked", "redrive", "--key", "order-1", "--topic", "orders", "--reason", "fixed"}
	r := o.answer("n", redrive...)
	require.Equal(t, 4, r.code, r.err)
	require.Empty(t, r.out)
	require.Regexp(t, `Would redrive 1 record of 1 key, the oldest set aside \S+ ago: parked in group default, topic orders, key order-1\. Go on\? \[y/N\]`, r.err)
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
