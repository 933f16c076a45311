package testenv

import (
	"context"
	"errors"
	"testing"
)

// DynamoEnv is a test's own part of DynamoDB Local: all tables whose names start with its
// prefix. They are deleted when the test ends.
type DynamoEnv struct {
	// URL is the endpoint. Any access key and any region will do.
	URL string
	// Prefix starts the names of the test's tables.
	Prefix string
	// Version is the server's version.
	Version string
}

// Dynamo returns a prefix on the shared server. Without one the test is skipped, in CI it
// fails.
func Dynamo(tb testing.TB) *DynamoEnv {
	tb.Helper()
	service, err := shared.service(context.Background(), KindDynamo)
	Available(tb, err)
	shared.slot(KindDynamo).announce.Do(func() { tb.Log("this run uses ", service.line()) })
	e := &DynamoEnv{URL: service.Address, Prefix: "leat-test-" + uniqueName() + "-", Version: service.Version}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := e.deleteTables(ctx); err != nil {
			tb.Errorf("delete the test's tables: %v", err)
		}
	})

	return e
}

func (e *DynamoEnv) deleteTables(ctx context.Context) error {
	names, err := dynamoTables(ctx, e.URL, e.Prefix)
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, dynamoCall(ctx, e.URL, "DeleteTable", map[string]any{"TableName": name}, nil))
	}

	return errors.Join(errs...)
}
