package exhibit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// Main is the main function of a program that plays exhibits. It finds or starts the servers, plays,
// prints its findings, and exits with status 1 if leat failed or an exhibit is out of date. The steps of a
// single exhibit are printed; with several, only the table is.
func Main(exhibits ...Exhibit) {
	testbed.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, exhibits)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, exhibits []Exhibit) (err error) {
	story := io.Discard
	if len(exhibits) == 1 {
		story = os.Stdout
	}
	bed, err := testbed.Start(ctx, story)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	fmt.Print(testbed.Versions(), bed.Servers(), "\n")

	var findings []Finding
	for _, e := range exhibits {
		found, err := e.Play(ctx, bed)
		findings = append(findings, found...)
		if err != nil {
			return err
		}
	}
	bed.Say("")
	if err := Table(os.Stdout, findings); err != nil {
		return err
	}
	var errs []error
	for _, f := range findings {
		errs = append(errs, f.Err())
	}
	return errors.Join(errs...)
}
