package main_test

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/cli"
)

// wrong are values that flags of a type refuse.
var wrong = map[string]string{
	"int": "many", "int32": "some", "int64": "few", "Span": "a while", "Moment": "yesterday", "Size": "4 apples",
}

// free are flags whose value may be any text: names, patterns, texts of others, which are
// looked for as they are.
var free = map[string]bool{
	"action": true, "consumer": true, "fingerprint": true, "forwarder": true, "group": true, "id": true, "key": true, "source": true, "topic": true, "type": true,
	// SQL of adopt, which the database judges:
	"done": true, "header": true, "headers-json": true, "not-before": true, "order": true, "payload": true, "pending": true, "time-of-event": true,
}

// tooLong is not a valid name of a table.
var tooLong = strings.Repeat("n", 64)

// special are values that the flags of texts with few values refuse, and where that is
// tested beside this.
var special = map[string]string{
	"output": "xml", "time": "soon", "color": "blue", "component": "cellar", "retention": "long", "start": "yesterday", "state": "lost",
	"resume": "/", "after": "x", "only": "[", "role": "shop=owner", "redis": "redis://127.0.0.1:1/many",
	"listen": "nowhere", "base": "ops", "host": "a/b", "allow": "root", "basic": "/nowhere", "bearer": "/nowhere", "proxy-peer": "nobody", "proxy-role": "ops",
	"tls-cert": "/nowhere", "tls-key": "/nowhere", "ca-file": "/nowhere", "connector": "/nowhere", "hide-path": "a..b", "trace-url": "/nowhere", "descriptors": "/nowhere", "protobuf": "orders",
	"actor": " ", "reason": " ", "config": "/nowhere", "profile": "p", "database": "ftp://", "brokers": "k1:9092,k2", "file": "/nowhere/x",
	"schema": tooLong, "outbox": tooLong, "inbox": tooLong, "dedupe": tooLong, "kind": "typo", "to": "a b", "to-topic": "a b", "positions-topic": "a/b",
	"hide-header": " ", "proxy-user": "X User", "proxy-group": "X:Groups",
	"ids": "/nowhere", "slots": "none", "compression": "zip", "slo": "soon", "metrics": "x:y", "log-level": "loud", "sink": "ftp://nowhere", "url": "::nowhere", "for": "oracle",
}

// Each flag of each command refuses a wrong value, with a message that names the flag and
// the value, before anything is connected to.
func TestFlags_WrongValues(t *testing.T) {
	t.Parallel()
	root := &cli.Root{}
	parser, err := cli.NewParser(root, io.Discard, io.Discard, func(int) {})
	require.NoError(t, err)
	o := newSession(t, "postgres://ann@127.0.0.1:1/shop")
	checked := 0
	for _, leaf := range parser.Model.Leaves(true) {
		for _, group := range leaf.AllFlags(true) {
			for _, flag := range group {
				if flag.IsBool() || flag.Name == "help" || free[flag.Name] {
					continue
				}
				value, ok := special[flag.Name]
				if !ok {
					value, ok = wrong[typeOf(flag)]
				}
				require.True(t, ok, "flag --%s of %s has no wrong value here", flag.Name, leaf.FullPath())
				if global(flag.Name) && leaf.Name != "status" {
					continue // once is enough
				}
				if flag.Name == "after" && strings.HasPrefix(leaf.Path(), "inbox") && leaf.Name != "list" && leaf.Name != "audit" {
					continue // names of consumers and ids
				}
				args := append(wanted(leaf, flag.Name), "--"+flag.Name+"="+value)
				r := o.leat(args...)
				require.Equal(t, 2, r.code, "%q: %s", args, r.err)
				require.Contains(t, r.err, "--"+flag.Name, "%q", args)
				require.Contains(t, r.err, value, "%q", args)
				checked++
			}
		}
	}
	require.Greater(t, checked, 40)
}

// global reports whether a flag is one of all commands.
func global(flag string) bool {
	switch flag {
	case "output", "time", "color", "timeout", "config", "profile", "database", "schema", "outbox", "inbox", "dedupe":
		return true
	default:
		return false
	}
}

func typeOf(flag *kong.Flag) string {
	typ := flag.Target.Type()
	if typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	return typ.Name()
}

// wanted is the command of leaf with what it requires beside the flag called but.
func wanted(leaf *kong.Node, but string) []string {
	args := strings.Fields(leaf.Path())
	for i, word := range args {
		if strings.HasPrefix(word, "<") || strings.HasPrefix(word, "[") {
			args = args[:i]
			break
		}
	}
	for _, arg := range leaf.Positional {
		value := "x"
		switch typ := arg.Target.Type().Name(); {
		case arg.Enum != "":
			value, _, _ = strings.Cut(arg.Enum, ",")
		case typ == "Span":
			value = "1h"
		}
		args = append(args, value)
	}
	if leaf.Name == "relay" && but != "brokers" {
		args = append(args, "--brokers=k1:9092")
	}
	for _, group := range leaf.AllFlags(true) {
		for _, flag := range group {
			if !flag.Required || flag.Name == but {
				continue
			}
			value := map[string]string{"int32": "1", "int64": "1", "Span": "48h"}[typeOf(flag)]
			switch {
			case flag.Name == "retention":
				value = "1h"
			case value == "":
				value = "x"
			}
			args = append(args, "--"+flag.Name+"="+value)
		}
	}
	return args
}

// Numbers beyond their bounds are named, too.
func TestFlags_Bounds(t *testing.T) {
	t.Parallel()
	o := newSession(t, "postgres://ann@127.0.0.1:1/shop")
	for _, args := range [][]string{
		{"parked", "list", "--limit=0"},
		{"messages", "search", "--limit=10001"},
		{"messages", "search", "--scan=0"},
		{"parked", "errors", "--limit=10001"},
		{"dead", "errors", "--limit=0"},
		{"inbox", "parked", "errors", "--limit=-1"},
		{"parked", "redrive", "--all", "--reason=x", "--chunk=0"},
		{"inbox", "parked", "drop", "--all", "--consumer=x", "--reason=x", "--chunk=10001"},
		{"parked", "redrive", "--all", "--reason=x", "--canary=-1"},
		{"dead", "redrive", "--all", "--reason=x", "--canary=1001"},
		{"parked", "redrive", "--all", "--reason=x", "--rate=100001"},
		{"erase", "--key=x", "--reason=about x@example.org"},
		{"erase", "--reason=y", "--topic=x"},
		{"erase", "--reason=y", "--header=x"},
		{"erase", "--reason=y", "--header==x"},
		{"replay", "--reason=x", "--rate=-1"},
		{"replay", "--reason=x", "--page-size=0"},
		{"replay", "--reason=x", "--attempts=0"},
		{"status", "--watch=1ms"},
		{"status", "--timeout=-1s"},
		{"migrate", "up", "--lock-timeout=1us"},
		{"inbox", "retention", "enable", "--retention=1h"},
		{"inbox", "retention", "enable", "--retention=48h", "--width=1ms"},
		{"inbox", "watermarks", "set", "--reason=x", "--consumer=x", "--topic=x", "--next=1", "--partition=-1"},
		{"inbox", "watermarks", "set", "--reason=x", "--consumer=x", "--topic=x", "--partition=0", "--next=-1"},
		{"messages", "search", "--from=2026-01-02", "--to=2026-01-01"},
		{"replay", "--reason=x", "--from=2026-01-02", "--to=2026-01-01"},
		{"parked", "drop", "--reason=x", "--key=x"},
		{"status", "--output=json", "--watch=1s"},
		{"audit", "--output=json", "--follow"},
		{"parked", "list", "--after=-1"},
		{"delayed", "list", "--after=tomorrow"},
		{"status", "--profile=p"},
		{"groups", "pause", "x", "--reason="},
		{"groups", "pause", "x", "--reason=x", "--actor= "},
	} {
		r := o.leat(args...)
		require.Equal(t, 2, r.code, "%q: %s", args, r.err)
		flag, _, _ := strings.Cut(args[len(args)-1], "=")
		require.Contains(t, r.err, flag, "%q", args)
	}
}
