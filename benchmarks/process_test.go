package benchmarks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// envProcess has the JSON of a processTask where this test binary is to be a relay
// and nothing else: what a process costs can only be seen from one that does
// nothing else.
const envProcess = "BENCH_PROCESS"

// processTask is what a relay process does. It relays Messages and ends, or, where
// there are none, stays idle for Idle. Where there is a Deduplicator, it is not a relay,
// and remembers Messages.
type processTask struct {
	Database     string
	Brokers      []string
	Messages     int
	Idle         time.Duration
	Deduplicator string
}

// processReport is what it says of itself.
type processReport struct {
	// IdleBytes and PeakBytes are the Go heap and stacks in use, before the relay
	// starts and at most; IdleRSS and PeakRSS the process's resident memory.
	IdleBytes, PeakBytes, IdleRSS, PeakRSS uint64
	// CPU is the share of one core that the idle relay took.
	CPU float64
	// Kept is how many bytes each message takes that is remembered, and Dropped how
	// many of them were dropped though they were new.
	Kept    float64
	Dropped int
}

// runProcess runs task in a process of its own.
func runProcess(b *testing.B, task processTask) processReport {
	b.Helper()
	encoded, err := json.Marshal(task)
	require.NoError(b, err)
	self, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.CommandContext(b.Context(), self)
	cmd.Env = append(os.Environ(), envProcess+"="+string(encoded))
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	require.NoError(b, cmd.Run(), "%s", &complaints)
	var report processReport
	require.NoError(b, json.Unmarshal(out.Bytes(), &report))
	return report
}

// process is the main function of such a process, which TestMain calls. It returns
// the exit code.
func process(encoded string) int {
	report, err := doTask(context.Background(), encoded)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(report)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func doTask(ctx context.Context, encoded string) (processReport, error) {
	var task processTask
	if err := json.Unmarshal([]byte(encoded), &task); err != nil {
		return processReport{}, err
	}
	if task.Deduplicator != "" {
		return remember(ctx, task.Deduplicator, task.Messages)
	}
	pool, err := pgxpool.New(ctx, task.Database)
	if err != nil {
		return processReport{}, err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return processReport{}, err
	}
	r, sink, err := openRelay(ob, task.Brokers, "", relay.Config{})
	if err != nil {
		return processReport{}, err
	}
	defer func() { _ = sink.Close() }() // it always returns nil
	if err := sink.Check(ctx); err != nil {
		return processReport{}, err
	}
	if task.Messages > 0 {
		return relayAll(ctx, r, task.Messages)
	}
	return stayIdle(ctx, r, task.Idle)
}

// relayAll relays a backlog and watches its own memory.
func relayAll(ctx context.Context, r *relay.Relay, want int) (report processReport, err error) {
	runtime.GC()
	report.IdleBytes, report.IdleRSS = memoryInUse(), residentMemory()
	stop, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		every := time.NewTicker(5 * time.Millisecond)
		defer every.Stop()
		for {
			report.PeakBytes = max(report.PeakBytes, memoryInUse())
			report.PeakRSS = max(report.PeakRSS, residentMemory())
			select {
			case <-every.C:
			case <-stop:
				return
			}
		}
	}()
	got, err := r.RunOnce(ctx)
	close(stop)
	<-watched
	if err == nil && got != want {
		err = fmt.Errorf("relayed %d messages, want %d", got, want)
	}
	return report, err
}

// stayIdle relays nothing, and counts the time that takes once it has settled down.
func stayIdle(ctx context.Context, r *relay.Relay, lasting time.Duration) (processReport, error) {
	const settling = 3 * time.Second
	ctx, cancel := context.WithTimeout(ctx, settling+lasting+time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	select {
	case <-time.After(settling):
	case err := <-ended:
		return processReport{}, err
	}
	before, began := processorTime(), time.Now()
	select {
	case <-time.After(lasting):
	case err := <-ended:
		return processReport{}, err
	}
	report := processReport{CPU: (processorTime() - before).Seconds() / time.Since(began).Seconds()}
	cancel()
	return report, <-ended
}

// processOn is the task's addresses.
func processOn(db *testenv.Database, broker *testenv.KafkaEnv) processTask {
	return processTask{Database: db.URL, Brokers: broker.Brokers}
}

// residentMemory is what the system says the process holds in memory, 0 where it
// does not.
func residentMemory() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	var kib uint64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		return 0
	}
	return kib << 10
}
