package kafkasource_test

import (
	"flag"
	"log"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

func TestMain(m *testing.M) {
	if os.Getenv(envConsumerDatabase) != "" {
		if err := consumerProcess(); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	// The tests wait for servers most of the time.
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := f.Value.Set(strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
			log.Fatal(err)
		}
	}
	testenv.Main(m)
}
