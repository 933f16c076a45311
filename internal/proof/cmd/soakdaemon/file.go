package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

//go:embed leat.yaml.tmpl
var file string

// said contains what the run puts into the configuration file.
type said struct {
	roles.DaemonRun

	Exact                     bool
	Slots, RangeSize          int
	Lease, Publish, Retention string
	PositionTopic, Prefix     string
	TransactionTimeout        string
	BrokerList                string
}

// write writes the configuration file of a daemon next to the histories, and returns its path.
func write(d roles.DaemonRun) (path string, err error) {
	exact := roles.ExactSink()
	s := said{
		DaemonRun: d, Exact: d.Role == roles.Exact, Slots: roles.RelaySlots, RangeSize: roles.RangeSize,
		Lease: roles.RelayLease.String(), Publish: roles.PublishTimeout.String(), Retention: roles.KeepFor.String(),
		PositionTopic: exact.PositionTopic, Prefix: exact.TransactionalIDPrefix, TransactionTimeout: exact.TransactionTimeout.String(),
		BrokerList: strings.Join(d.Brokers, ","),
	}
	form, err := template.New("leat.yaml").Parse(file)
	if err != nil {
		return "", fmt.Errorf("parse the file's form: %w", err)
	}
	path = filepath.Join(d.Dir, d.Name+".yaml")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // of the run
	if err != nil {
		return "", fmt.Errorf("write the daemon's file: %w", err)
	}
	defer func() { _ = to.Close() }()
	if err := form.Execute(to, s); err != nil {
		return "", fmt.Errorf("write the daemon's file: %w", err)
	}
	return path, to.Close()
}
