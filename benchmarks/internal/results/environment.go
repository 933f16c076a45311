package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// Environment is the environment of a run.
type Environment struct {
	// Date is when the run began.
	Date time.Time `json:"date"`
	// Scale is the size of the run: full, quick or ci.
	Scale string `json:"scale"`
	// Commit is the measured commit. It ends in "+" if files had been changed, and is "" if the commit is
	// not known.
	Commit string `json:"commit"`
	// Machine is the machine that it ran on.
	Machine Machine `json:"machine"`
	// Servers are the servers that the benchmarks used.
	Servers []Server `json:"servers"`
	// Modules are the versions of the Go modules that the benchmarks require
	// themselves, by their path.
	Modules map[string]string `json:"modules"`
	// Again are later runs of some of the benchmarks.
	Again []Again `json:"again,omitempty"`
}

// Machine describes the hardware and Go's view of it. Facts that the system does not report are
// empty.
type Machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	// MemoryBytes is the size of the main memory.
	MemoryBytes uint64 `json:"memory_bytes"`
	OS          string `json:"os"`
	Kernel      string `json:"kernel"`
	Go          string `json:"go"`
	// Load is the mean number of processes that wanted a processor in the minute before the run.
	Load float64 `json:"load"`
}

// Server is a server with the settings that affect the figures.
type Server struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Settings are the settings as the server reports them.
	Settings map[string]string `json:"settings,omitempty"`
	// Benchmarks are the benchmarks that ran on the server.
	Benchmarks []string `json:"benchmarks"`
}

// Uses records that the running benchmark uses the server. It sets the server's Benchmarks.
func Uses(tb testing.TB, server Server) {
	tb.Helper()
	if err := current.uses(Benchmark(tb), server); err != nil {
		tb.Fatalf("results: %v", err)
	}
}

func (r *recorder) uses(benchmark string, server Server) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	servers := &r.environment.Servers
	at := slices.IndexFunc(*servers, server.same)
	if at < 0 {
		at = len(*servers)
		server.Benchmarks = nil
		*servers = append(*servers, server)
	}
	used := &(*servers)[at].Benchmarks
	if slices.Contains(*used, benchmark) {
		return nil
	}
	*used = append(*used, benchmark)
	return r.environment.save(r.dir)
}

// here returns the environment of this machine and program.
func here(scale string) Environment {
	return Environment{
		Date: time.Now().UTC().Truncate(time.Second), Scale: scale, Commit: commit(), Modules: modules(),
		Machine: Machine{
			CPU: processor(), Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0), MemoryBytes: memory(),
			OS: runtime.GOOS + "/" + runtime.GOARCH, Kernel: kernel(), Go: runtime.Version(), Load: load(),
		},
	}
}

// LoadEnvironment reads the environment in dir.
func LoadEnvironment(dir string) (Environment, error) {
	var e Environment
	text, err := os.ReadFile(filepath.Join(dir, EnvironmentName)) //nolint:gosec // the caller chooses it
	if err != nil {
		return e, fmt.Errorf("results: %w", err)
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, fmt.Errorf("results: environment: %w", err)
	}
	return e, nil
}

func (e *Environment) save(dir string) error {
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("results: environment: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, EnvironmentName), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("results: environment: %w", err)
	}
	return nil
}
