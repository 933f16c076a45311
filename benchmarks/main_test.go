package benchmarks

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/fakeredis"
)

// resultsDir is where samples and environment of the run are written.
var resultsDir = flag.String("results", "", "write samples.csv and environment.json to this directory; none if empty")

//leat:level 4
func TestMain(m *testing.M) {
	if task := os.Getenv(envProcess); task != "" {
		os.Exit(process(task))
	}
	testenv.Supervise()
	testenv.PlayRedis(fakeredis.Start)
	flag.Parse()
	if err := results.Open(*resultsDir, *scaleName); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testenv.Main(m) // the samples are in the file already when this exits
}
