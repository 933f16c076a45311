package testenv

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// DynamoEnv is a test's own part of DynamoDB Local: all tables whose names start with its
// prefix. They are deleted when the test ends.
type DynamoEnv struct {
	// URL is the endpoint. It accepts any access key and any region.
	URL string
	// Prefix is the prefix of the names of the test's tables.
	Prefix string
	// Version is the server's version.
	Version string
}

// Dynamo returns a prefix on the shared server. If there is no server the test is skipped; in CI it
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

// resolveDynamo tries the sources of DynamoDB Local in order. It has no substitute.
func resolveDynamo(ctx context.Context) (Service, error) {
	if url := os.Getenv(EnvDynamo); url != "" {
		return dynamoAt(ctx, url, "address in "+EnvDynamo)
	}
	if s, ok := detached(ctx, KindDynamo); ok {
		if s, err := dynamoAt(ctx, s.Address, "detached set"); err == nil {
			return s, nil
		}
	}
	if s, err := dynamoAt(ctx, "http://127.0.0.1:8000", "already running on the standard port"); err == nil {
		return s, nil
	}

	return startDynamo(ctx)
}

// dynamoAt describes the DynamoDB Local at an endpoint.
func dynamoAt(ctx context.Context, url, origin string) (Service, error) {
	if _, err := dynamoTables(ctx, url, ""); err != nil {
		return Service{}, err
	}

	return Service{Kind: KindDynamo, Address: url, Version: "Local", Origin: origin, Real: true}, nil
}

// dynamoVersion is the version of DynamoDB Local that is downloaded, as in dynamo_pom.xml. The server does
// not report its version.
const dynamoVersion = "2.6.1"

//go:embed dynamo_pom.xml
var dynamoPOM []byte

//go:embed sums/dynamodb.sha256
var dynamoSums []byte

// dynamoServer runs DynamoDB Local from jars. Its tables are in memory, and all credentials and
// regions see the same tables.
type dynamoServer struct {
	javaBinaries
}

func (s dynamoServer) plan(_ string, port int) (plan, error) {
	return plan{
		Argv: []string{
			s.java, "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
			"-Djava.library.path=" + s.libs, // where the library of SQLite is
			"-cp", filepath.Join(s.libs, "*"), "com.amazonaws.services.dynamodbv2.local.main.ServerRunner",
			"-inMemory", "-sharedDb", "-disableTelemetry", "-port", strconv.Itoa(port),
		},
		Stop: []stopStep{{Signal: int(syscall.SIGTERM), Wait: 5 * time.Second}},
	}, nil
}

// probe lists the tables. If another DynamoDB Local has taken the port, it answers instead of ours, which
// has then ended. The other one can be used as well, since no other test uses the names of our tables.
func (s dynamoServer) probe(ctx context.Context, _ string, port int) (string, error) {
	_, err := dynamoTables(ctx, "http://"+localAddress(port), "")

	return dynamoVersion, err
}

func startDynamo(ctx context.Context) (Service, error) {
	service, s, err := startOwnDynamo(ctx)
	if err == nil {
		service.stop = s.close
	}

	return service, err
}

func startOwnDynamo(ctx context.Context) (Service, *server, error) {
	binaries, err := findJars(ctx, "dynamodb-"+dynamoVersion, dynamoPOM, dynamoSums)
	if err != nil {
		return Service{}, nil, err
	}
	s, err := serve(ctx, "dynamodb", dynamoServer{binaries})
	if err != nil {
		return Service{}, nil, err
	}

	return Service{
		Kind:    KindDynamo,
		Address: "http://" + s.address(),
		Version: s.version,
		Origin:  "DynamoDB Local started with " + binaries.java,
		Real:    true,
	}, s, nil
}

// errDynamoReply is returned if a reply does not come from DynamoDB, or is an error.
var errDynamoReply = errors.New("testenv: reply of DynamoDB")

// dynamoCall makes a request in DynamoDB's own JSON. This package does not use a client library, since the
// demo links it. DynamoDB Local requires a signature but does not check it.
func dynamoCall(ctx context.Context, url, operation string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	request.Header.Set("Authorization",
		"AWS4-HMAC-SHA256 Credential=leat/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=none")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("testenv: DynamoDB: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("testenv: DynamoDB: %w", err)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%w: %s: %s: %.1000s", errDynamoReply, operation, response.Status, text)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%w: %s: %w", errDynamoReply, operation, err)
	}

	return nil
}

// dynamoTables lists the tables whose names start with prefix.
func dynamoTables(ctx context.Context, url, prefix string) ([]string, error) {
	var found []string
	for in := map[string]any{}; ; {
		var out struct {
			TableNames             []string
			LastEvaluatedTableName string
		}
		if err := dynamoCall(ctx, url, "ListTables", in, &out); err != nil {
			return nil, err
		}
		if out.TableNames == nil {
			return nil, fmt.Errorf("%w: ListTables: no list of tables", errDynamoReply)
		}
		for _, name := range out.TableNames {
			if strings.HasPrefix(name, prefix) {
				found = append(found, name)
			}
		}
		if out.LastEvaluatedTableName == "" {
			return found, nil
		}
		in["ExclusiveStartTableName"] = out.LastEvaluatedTableName
	}
}
