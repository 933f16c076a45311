package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/dynamooutbox/dynamotable"
)

//leat:level 1
func TestMain(m *testing.M) {
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

// newServer is DynamoDB Local, with names of tables that no other test uses.
func newServer(t *testing.T) *server {
	t.Helper()
	env := testenv.Dynamo(t)
	options, err := environment(variables(env))
	require.NoError(t, err)
	return &server{options: options, prefix: env.Prefix}
}

// variables are those of a user of DynamoDB Local.
func variables(env *testenv.DynamoEnv) func(string) string {
	all := map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "leat", "AWS_SECRET_ACCESS_KEY": "leat", "AWS_ENDPOINT_URL_DYNAMODB": env.URL,
	}
	return func(name string) string { return all[name] }
}

// client is a client of the test's own.
func client(t *testing.T, options dynamodb.Options) *dynamodb.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	options.HTTPClient = &http.Client{Transport: transport}
	return dynamodb.New(options)
}

// tables are those whose names begin so.
func tables(t *testing.T, db *dynamodb.Client, prefix string) (names []string) {
	t.Helper()
	for pages := dynamodb.NewListTablesPaginator(db, &dynamodb.ListTablesInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		for _, name := range page.TableNames {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
	}
	return names
}

// findings runs the probes that match, and looks for tables that are left.
func findings(t *testing.T, s *server, only string, workload time.Duration) map[string]prover.Finding {
	t.Helper()
	found, err := prover.Run(t.Context(), s, prover.Options{
		Only: only, Workload: workload,
		Around: func(_ string, do func() error) error { return do() }, Tell: func(prover.Finding) error { return nil },
	})
	require.NoError(t, err)
	by := map[string]prover.Finding{}
	for _, f := range found {
		by[f.Probe] = f
	}
	require.Empty(t, tables(t, client(t, s.options), s.prefix))
	return by
}

// On DynamoDB Local all holds.
func TestHolds(t *testing.T) {
	t.Parallel()
	found := findings(t, newServer(t), "", 3*time.Second)
	require.Len(t, found, 13)
	for name, f := range found {
		require.Equal(t, prover.OK, f.Outcome, "%s: %q", name, f.Details)
		require.NotEmpty(t, f.Protects, name)
	}
	require.Contains(t, found[prover.Workload].Details[1], "0 lost, 0 doubled, 0 out of order, 0 invented")
}

// The command prints what was found, in three forms, and exits by the worst of it.
func TestRun_Prints(t *testing.T) {
	t.Parallel()
	env := testenv.Dynamo(t)
	runs := func(code int, args ...string) (out, errs string) {
		var stdout, stderr bytes.Buffer
		got := run(t.Context(), append([]string{"-prefix", env.Prefix}, args...), variables(env), &stdout, &stderr)
		require.Equal(t, code, got, "%s%s", &stdout, &stderr)
		return stdout.String(), stderr.String()
	}
	out, _ := runs(exitDone, "-only", "expiry")
	require.Equal(t, fmt.Sprintf("%s, region us-east-1\n%-21sok\n", env.URL, "expiry"), out)
	var all prover.Report
	out, _ = runs(exitDone, "-only", "transactions.*", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(out), &all))
	require.Equal(t, prover.OK, all.Outcome)
	require.Len(t, all.Findings, 3)
	var one prover.Finding
	out, _ = runs(exitUnknown, "-only", prover.Workload, "-workload", "1ns", "-o", "jsonl")
	require.NoError(t, json.Unmarshal([]byte(out), &one))
	require.Equal(t, prover.CouldNotTry, one.Outcome)
	_, errs := runs(exitUsage, "-only", "cellar")
	require.Contains(t, errs, `-only "cellar": matches no probe`)
	_, errs = runs(exitDone, "-h")
	require.Contains(t, errs, "AWS_ENDPOINT_URL_DYNAMODB names another server")
}

// What is impossible is said before anything is opened.
func TestRun_Refuses(t *testing.T) {
	t.Parallel()
	good := map[string]string{"AWS_REGION": "r", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
	for says, c := range map[string]struct {
		args []string
		env  map[string]string
	}{
		`-only "[": must be a pattern`:                                     {args: []string{"-only", "["}},
		`-workload "-1s": must not be negative`:                            {args: []string{"-workload", "-1s"}},
		`-prefix "a b": must have at most 200 of`:                          {args: []string{"-prefix", "a b"}},
		`-o "xml": must be table, json or jsonl`:                           {args: []string{"-o", "xml"}},
		`"orders": there are flags only`:                                   {args: []string{"orders"}},
		"flag provided but not defined: -table":                            {args: []string{"-table", "orders"}},
		`AWS_REGION "": must name the region`:                              {env: map[string]string{"AWS_REGION": ""}},
		`AWS_ACCESS_KEY_ID "k": must be set, and AWS_SECRET_ACCESS_KEY`:    {env: map[string]string{"AWS_SECRET_ACCESS_KEY": ""}},
		`AWS_ENDPOINT_URL "localhost:8000": must be a URL such as http://`: {env: map[string]string{"AWS_ENDPOINT_URL": "localhost:8000"}},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), c.args, func(name string) string {
			if value, ok := c.env[name]; ok {
				return value
			}
			return good[name]
		}, &stdout, &stderr)
		require.Equal(t, exitUsage, code, says)
		require.Contains(t, stderr.String(), says)
		require.Empty(t, stdout.String())
	}
}

// stopping is a writer that stops once it has seen a text.
type stopping struct {
	seen string
	stop func() error
	all  bytes.Buffer
}

func (w *stopping) Write(p []byte) (int, error) {
	w.all.Write(p)
	if strings.Contains(w.all.String(), w.seen) {
		if err := w.stop(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Whenever it is interrupted, while tables are created, by a signal, or by a reader that goes, nothing is left
// behind.
func TestRun_Interrupted(t *testing.T) {
	t.Parallel()
	env := testenv.Dynamo(t)
	options, err := environment(variables(env))
	require.NoError(t, err)
	db := client(t, options)
	for _, after := range []string{"transactions.whole", "leat.check"} {
		ctx, cancel := context.WithCancel(t.Context())
		out := &stopping{seen: after, stop: func() error { cancel(); return nil }}
		var stderr bytes.Buffer
		require.Equal(t, exitInterrupted, run(ctx, []string{"-prefix", env.Prefix, "-workload", "1h"}, variables(env), out, &stderr), &stderr)
		require.Contains(t, stderr.String(), "interrupted")
		require.Empty(t, tables(t, db, env.Prefix), after)
	}
	out := &stopping{seen: "transactions.whole", stop: func() error { return context.DeadlineExceeded }}
	require.Equal(t, exitFailed, run(t.Context(), []string{"-prefix", env.Prefix}, variables(env), out, &bytes.Buffer{}))
	require.Empty(t, tables(t, db, env.Prefix))

	for _, operation := range []string{"CreateTable", "UpdateTable", "DescribeTable"} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &server{options: options, prefix: env.Prefix}
		s.via = through(func(got string, in request, send func(request) reply) reply {
			defer func() {
				if got == operation {
					cancel()
				}
			}()
			return send(in)
		})
		_, err := prover.Run(ctx, s, prover.Options{
			Around: func(_ string, do func() error) error { return do() }, Tell: func(prover.Finding) error { return nil },
		})
		cancel()
		require.ErrorIs(t, err, context.Canceled, operation)
		require.Empty(t, tables(t, db, env.Prefix), operation)
	}
}

// What a run has left behind that was killed, a later one deletes, once it is old. Others' tables stay.
func TestSweeps(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	db := client(t, s.options)
	table := func(ago time.Duration, end string) string {
		name := fmt.Sprintf("%sleat_prove_%d%s", s.prefix, time.Now().Add(-ago).Unix(), end)
		require.NoError(t, dynamotable.Table{Name: name, Partition: dynamotable.Key{Name: "pk", Type: types.ScalarAttributeTypeS}}.Setup(t.Context(), db))
		return name
	}
	table(2*time.Hour, "_0a1b2c3d_outbox")
	want := []string{table(time.Minute, "_0a1b2c3d_inbox"), table(2*time.Hour, "_0a1b2c3d_orders"), table(2*time.Hour, "_ours_shop")}
	require.NoError(t, s.Prepare(t.Context()))
	slices.Sort(want)
	got := tables(t, db, s.prefix)
	slices.Sort(got)
	require.Equal(t, want, got)
}

// What the credentials may not is said before anything is tried; a missing right to see other tables does not matter.
func TestRights(t *testing.T) {
	t.Parallel()
	deny := func(which string) func(dynamodb.HTTPClient) dynamodb.HTTPClient {
		return through(func(operation string, in request, send func(request) reply) reply {
			if operation == which {
				return refusal("AccessDeniedException")
			}
			return send(in)
		})
	}
	s := newServer(t)
	s.via = deny("CreateTable")
	_, err := prover.Run(t.Context(), s, prover.Options{
		Around: func(_ string, do func() error) error { return do() }, Tell: func(prover.Finding) error { return nil },
	})
	require.ErrorContains(t, err, "scratch tables are needed: allow all actions on tables "+s.prefix+"leat_prove_*")
	s = newServer(t)
	s.via = deny("ListTables")
	require.Equal(t, prover.OK, findings(t, s, "expiry", 0)["expiry"].Outcome)
	s = newServer(t)
	s.via = deny("DescribeTimeToLive")
	require.Equal(t, prover.CouldNotTry, findings(t, s, "expiry", 0)["expiry"].Outcome)
	s = newServer(t)
	s.via = deny("DeleteTable")
	found, err := prover.Run(t.Context(), s, prover.Options{
		Only: "expiry", Around: func(_ string, do func() error) error { return do() }, Tell: func(prover.Finding) error { return nil },
	})
	require.NoError(t, err)
	require.Equal(t, "scratch", found[len(found)-1].Probe)
	require.Contains(t, found[len(found)-1].Details[0], aws.ToString(s.table(outboxTable))+" is left behind")
}
