package prove

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/prover"
)

// holdVariable is set for a process that is to hold the lock of a file.
const holdVariable = "LEAT_PROVE_HOLD"

//leat:level 0
func TestMain(m *testing.M) {
	if path := os.Getenv(holdVariable); path != "" {
		os.Exit(holdUntilToldTo(path))
	}
	goleak.VerifyTestMain(m)
}

func holdUntilToldTo(path string) int {
	db, err := testFile{}.Beside(path)
	if err == nil {
		defer db.Close()
		err = Hold(context.Background(), db, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// options run the probes that match only, and the workload.
func options(only string, workload time.Duration) prover.Options {
	return prover.Options{
		Only: only, Workload: workload,
		Around: func(_ string, do func() error) error { return do() }, Tell: func(prover.Finding) error { return nil },
	}
}
