// Package connect runs a worker of Kafka Connect with Debezium's connector for
// PostgreSQL.
package connect

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/testenv"
)

// The versions that are downloaded, as in pom.xml.
const (
	Version         = "4.1.1"
	DebeziumVersion = "3.3.1.Final"
)

//go:embed pom.xml
var pom []byte

//go:embed jars.sha256
var sums []byte

//go:embed worker.properties
var properties string

// Worker is a standalone worker in a separate process. Its methods may be called concurrently.
type Worker struct {
	own    *testenv.Own
	client *http.Client
}

// Options configure the size and the pace of a worker.
type Options struct {
	// HeapMB is the maximum of its heap, in MiB. Defaults to 512, which is enough for tests.
	HeapMB int
	// OffsetFlush is the time between two writes of a connector's offsets. Defaults to a second.
	OffsetFlush time.Duration
}

// Settings that Kafka's own scripts give a worker.
const (
	KafkaHeapMB      = 2048
	KafkaOffsetFlush = time.Minute
)

// Start starts a worker without connectors and waits until it answers, which takes ten seconds or more.
// The worker ends when this process ends, if not before. The caller must Close it. The error wraps
// testenv.ErrUnavailable if Java is missing or the jars cannot be downloaded.
func Start(ctx context.Context, brokers []string, o Options) (*Worker, error) {
	java, libs, err := testenv.Jars(ctx, "connect-"+Version+"-debezium-"+DebeziumVersion, pom, sums)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	w := &Worker{client: &http.Client{Timeout: time.Minute}}
	w.own, err = testenv.OwnProgram(ctx, testenv.Program{
		Name: "connect",
		Plan: func(dir string, port int) (map[string]string, []string) {
			worker := strings.NewReplacer(
				"{{brokers}}", strings.Join(brokers, ","), "{{port}}", strconv.Itoa(port), "{{dir}}", dir,
				"{{flush}}", strconv.FormatInt(cmp.Or(o.OffsetFlush, time.Second).Milliseconds(), 10),
			).Replace(properties)
			return map[string]string{"worker.properties": worker}, commandLine(java, libs, filepath.Join(dir, "worker.properties"), cmp.Or(o.HeapMB, 512))
		},
		Probe: w.version,
	})
	if err != nil {
		w.client.CloseIdleConnections()
		return nil, fmt.Errorf("connect: start a worker: %w", err)
	}
	return w, nil
}

// commandLine returns the worker's command line, with the options that Kafka's own connect-standalone.sh
// gives the Java runtime.
func commandLine(java, libs, worker string, heapMB int) []string {
	return []string{
		java, "-Xms256M", "-Xmx" + strconv.Itoa(heapMB) + "M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
		"-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", filepath.Join(libs, "*"),
		"org.apache.kafka.connect.cli.ConnectStandalone", worker,
	}
}

// version asks the worker at address for its version.
func (w *Worker) version(ctx context.Context, address string) (version string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	response, err := w.client.Do(request)
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	var answer struct {
		Version string `json:"version"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("connect: version: %w", err)
	}
	if answer.Version == "" {
		return "", errors.New("connect: the worker has not started yet")
	}
	return answer.Version, nil
}

// Version returns the version that the worker reports.
func (w *Worker) Version() string { return w.own.Version }

// Log returns the end of the worker's output, for an error.
func (w *Worker) Log() string { return w.own.Log() }

// Close ends the worker and its connectors.
func (w *Worker) Close() error {
	w.client.CloseIdleConnections()
	if err := w.own.Close(); err != nil {
		return fmt.Errorf("connect: end the worker: %w", err)
	}
	return nil
}
