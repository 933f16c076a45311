package testenv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// postgresServer runs PostgreSQL from binaries on this machine.
type postgresServer struct {
	bin      string // the directory of postgres and initdb
	settings map[string]string
	primary  *Own // that it follows, stopped at the start; nil if it is a primary itself
}

// roomyWAL lets a shared server go on without checkpoints but those of new databases, and
// memoryWAL does so where the log takes memory.
const (
	roomyWAL  = "4GB"
	memoryWAL = "1GB"
)

// sharedSettings suit a server that many tests share and nobody keeps: it may
// lose everything in a crash of the machine, so it does not wait for the disk.
// Commits stay synchronous, since leat checks that they are.
func sharedSettings() map[string]string {
	return map[string]string{
		"fsync":                     "off",
		"full_page_writes":          "off",
		"max_connections":           "600",
		"max_prepared_transactions": "64",
		"max_locks_per_transaction": "128",
		"shared_buffers":            "256MB",
		"max_wal_size":              roomyWAL,
		"checkpoint_timeout":        "30min",
	}
}

// privateSettings suit a server that one test crashes and restarts.
func privateSettings(extra map[string]string) map[string]string {
	settings := map[string]string{
		"max_connections":           "100",
		"max_prepared_transactions": "64",
		"shared_buffers":            "64MB",
	}
	maps.Copy(settings, extra)

	return settings
}

func (s postgresServer) plan(dir string, port int) (plan, error) {
	user, err := unprivileged()
	if err != nil {
		return plan{}, err
	}
	data := filepath.Join(dir, "data")
	argv := []string{
		filepath.Join(s.bin, "postgres"), "-D", data, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=127.0.0.1",
		// No socket: its path would be too long below some temporary directories.
		"-c", "unix_socket_directories=",
	}
	for _, name := range slices.Sorted(maps.Keys(s.settings)) {
		value := s.settings[name]
		if value == roomyWAL && isInMemory(dir) {
			value = memoryWAL
		}
		argv = append(argv, "-c", name+"="+value)
	}

	prepare := [][]string{{
		filepath.Join(s.bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions",
	}}
	if p := s.primary; p != nil {
		prepare = [][]string{{"cp", "-a", p.data(), data}, {"touch", filepath.Join(data, "standby.signal")}}
		argv = append(argv, "-c", fmt.Sprintf("primary_conninfo=host=127.0.0.1 port=%d user=postgres", p.server.port), "-c", "wal_retrieve_retry_interval=50ms")
	}

	return plan{
		User:    user,
		Env:     []string{"LC_ALL=C", "TZ=UTC"},
		Prepare: prepare,
		Argv:    argv,
		Stop: []stopStep{
			{Signal: int(syscall.SIGINT), Wait: 10 * time.Second},
			{Signal: int(syscall.SIGQUIT), Wait: 10 * time.Second},
		},
	}, nil
}

func (s postgresServer) probe(ctx context.Context, dir string, port int) (version string, err error) {
	conn, err := connectPostgres(ctx, postgresURL(port))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()

	var data string
	err = conn.QueryRow(ctx, `SELECT current_setting('data_directory'),
		split_part(current_setting('server_version'), ' ', 1)`).Scan(&data, &version)
	if err != nil {
		return "", fmt.Errorf("testenv: probe: %w", err)
	}
	if data != filepath.Join(dir, "data") {
		return "", errNotOurs
	}

	return version, nil
}

// postgresURL is the address of the maintenance database of a server of ours.
func postgresURL(port int) string {
	return "postgres://postgres@" + localAddress(port) + "/postgres?sslmode=disable"
}

// startPostgres runs a server from the binaries.
func startPostgres(ctx context.Context, b postgresBinaries, settings map[string]string) (Service, *server, error) {
	s, err := serve(ctx, "postgres", postgresServer{bin: b.dir, settings: settings})
	if err != nil {
		return Service{}, nil, err
	}

	return Service{
		Kind:    KindPostgres,
		Address: postgresURL(s.port),
		Version: s.version,
		Origin:  "started from " + b.origin + whereData(s.dir),
		Real:    true,
		stop:    s.close,
	}, s, nil
}

// OwnStandby starts a standby that follows primary by streaming replication, with settings of its
// own. It restarts primary to copy its data.
func OwnStandby(ctx context.Context, primary *Own, settings map[string]string) (*Own, error) {
	if err := primary.End(ctx, syscall.SIGINT); err != nil {
		return nil, err
	}
	bin := filepath.Dir(primary.server.proc.plan.Argv[0])
	s, err := serve(ctx, "postgres", postgresServer{bin: bin, settings: privateSettings(settings), primary: primary})
	if failed := primary.Start(ctx); failed != nil {
		err = errors.Join(err, failed)
		if s != nil {
			err = errors.Join(err, s.close(context.WithoutCancel(ctx)))
		}
	}
	if err != nil {
		return nil, err
	}

	return newOwn(Service{Address: postgresURL(s.port), Version: s.version}, s), nil
}
