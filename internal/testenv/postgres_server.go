package testenv

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/xi2/xz"
)

// postgresServer runs PostgreSQL from binaries on this machine.
type postgresServer struct {
	bin      string // directory of postgres and initdb
	settings map[string]string
	primary  *Own // the primary that the server follows, stopped at the start; nil if the server is a primary itself
}

// roomyWAL is the size of the log with which a shared server makes no checkpoints except for new
// databases. memoryWAL is that size if the log is in memory.
const (
	roomyWAL  = "4GB"
	memoryWAL = "1GB"
)

// sharedSettings returns the settings of a server that many tests share. A crash of the machine may lose
// all its data, so it does not wait for the disk. Commits stay synchronous, since leat checks that they
// are.
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

// privateSettings returns the settings of a server that one test crashes and restarts.
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
		// A socket is not used, since its path would be too long below some temporary directories.
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
		// This is written into the file, where ALTER SYSTEM can change it: see [PostgresStandby.Cut].
		follow := fmt.Sprintf(`printf "primary_conninfo = 'host=127.0.0.1 port=%d user=postgres'\n" >> "$0"`, p.server.port)
		prepare = [][]string{
			{"cp", "-a", p.data(), data},
			{"touch", filepath.Join(data, "standby.signal")},
			{"sh", "-c", follow, filepath.Join(data, "postgresql.auto.conf")},
		}
		argv = append(argv, "-c", "wal_retrieve_retry_interval=50ms")
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

// postgresURL returns the address of the maintenance database of one of our servers.
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

// OwnStandby starts a standby that follows primary by streaming replication, with its own settings.
// It restarts primary to copy its data.
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

// postgresBinaries is a directory with the programs postgres and initdb.
type postgresBinaries struct {
	dir    string
	origin string
}

// oldestPostgres is the oldest major version that leat supports.
const oldestPostgres = 14

// localPostgres looks for binaries on this machine: where the environment names them, then where Debian
// installs them, the newest first, then in PATH.
func localPostgres(ctx context.Context) (postgresBinaries, bool) {
	if dir := os.Getenv(EnvPostgresBin); dir != "" {
		return postgresBinaries{dir: dir, origin: dir + " (" + EnvPostgresBin + ")"}, true
	}
	for _, dir := range postgresDirs() {
		if usablePostgres(ctx, dir) {
			return postgresBinaries{dir: dir, origin: dir}, true
		}
	}

	return postgresBinaries{}, false
}

// postgresDirs returns the candidate directories, in order of preference.
func postgresDirs() []string {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(dirs, func(a, b string) int { return debianMajor(b) - debianMajor(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(target))
		}
	}

	return dirs
}

func debianMajor(bin string) int {
	major, err := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	if err != nil {
		return 0
	}

	return major
}

// usablePostgres reports whether dir has both programs and they are new enough. The client packages alone
// have pg_ctl's directory without these programs.
func usablePostgres(ctx context.Context, dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return false
	}
	output, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return false
	}
	fields := strings.Fields(string(output)) // such as: postgres (PostgreSQL) 15.14 (Debian …)
	if len(fields) < 3 {
		return false
	}
	major, err := strconv.Atoi(majorOf(fields[2]))

	return err == nil && major >= oldestPostgres
}

// versionedPostgres returns the binaries of a major version.
func versionedPostgres(ctx context.Context, major string) (postgresBinaries, error) {
	return fetchPostgres(ctx, major)
}

// wantedPostgres returns the binaries for our own servers: those of the requested version, or else those
// of the machine. They are installed or downloaded if necessary.
func wantedPostgres(ctx context.Context, version string) (postgresBinaries, error) {
	if version == "" {
		version = os.Getenv(EnvPostgresVersion)
	}
	if version != "" {
		return versionedPostgres(ctx, majorOf(version))
	}
	if b, ok := localPostgres(ctx); ok {
		return b, nil
	}
	if mayInstall() {
		if err := install(ctx, "postgresql"); err != nil {
			return postgresBinaries{}, err
		}
		if b, ok := localPostgres(ctx); ok {
			b.origin += ", installed by this run"

			return b, nil
		}

		return postgresBinaries{}, fmt.Errorf("%w: the package postgresql brought no usable server", ErrUnavailable)
	}

	return fetchPostgres(ctx, newestPostgres)
}

// newestPostgres is downloaded if any version may be used.
const newestPostgres = "18"

//go:embed postgres_pom.xml
var postgresPOM []byte

//go:embed sums/postgres.sha256
var postgresSums []byte

// postgresRelease returns the minor version to download for a major one.
func postgresRelease(major string) (string, error) {
	switch major {
	case "14":
		return "14.19.0", nil
	case "15":
		return "15.14.0", nil
	case "16":
		return "16.10.0", nil
	case "17":
		return "17.6.0", nil
	case newestPostgres:
		return "18.1.0", nil
	default:
		return "", fmt.Errorf("testenv: %s=%q is not 14 to 18", EnvPostgresVersion, major)
	}
}

// fetchPostgres returns the binaries of a major version. They are downloaded once with Maven and kept in
// the cache.
func fetchPostgres(ctx context.Context, major string) (postgresBinaries, error) {
	release, err := postgresRelease(major)
	if err != nil {
		return postgresBinaries{}, err
	}
	cache, err := cacheDir()
	if err != nil {
		return postgresBinaries{}, err
	}
	home := filepath.Join(cache, "postgres-"+release)
	err = once(ctx, home, func(dir string) error {
		jar, err := postgresJar(ctx, release)
		if err != nil {
			return err
		}

		return unpackPostgres(jar, dir)
	})
	if err != nil {
		return postgresBinaries{}, fmt.Errorf("%w: PostgreSQL %s: %w", ErrUnavailable, release, err)
	}

	return postgresBinaries{
		dir:    filepath.Join(home, "bin"),
		origin: "embedded-postgres " + release,
	}, nil
}

// postgresJar returns the jar that the project embedded-postgres-binaries publishes for this machine, if
// it has the pinned sum.
func postgresJar(ctx context.Context, release string) ([]byte, error) {
	artifact := "embedded-postgres-binaries-" + runtime.GOOS + "-" + runtime.GOARCH
	if runtime.GOARCH == "arm64" {
		artifact += "v8"
	}
	pinned, err := parseSums(postgresSums)
	if err != nil {
		return nil, err
	}
	name := artifact + "-" + release + ".jar"
	sum, ok := pinned[name]
	if !ok {
		return nil, fmt.Errorf("%w: %s: there is no sum of it; %s can name binaries", errSum, name, EnvPostgresBin)
	}
	pom := bytes.ReplaceAll(postgresPOM, []byte("ARTIFACT"), []byte(artifact))
	pom = bytes.ReplaceAll(pom, []byte("RELEASE"), []byte(release))
	jars, err := findJars(ctx, "postgres-jar-"+release, pom, []byte(sum+"  "+name+"\n"))
	if err != nil {
		return nil, err
	}
	jar, err := os.ReadFile(filepath.Join(jars.libs, name))
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}

	return jar, nil
}

// unpackPostgres unpacks the single .txz of a jar into dir.
func unpackPostgres(jar []byte, dir string) error {
	archive, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return fmt.Errorf("testenv: unpack PostgreSQL: %w", err)
	}
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, ".txz") {
			continue
		}
		if err := unpackFile(file, dir); err != nil {
			return fmt.Errorf("testenv: unpack PostgreSQL: %s: %w", file.Name, err)
		}

		return nil
	}

	return errors.New("testenv: unpack PostgreSQL: no .txz in the jar")
}

func unpackFile(file *zip.File, dir string) (err error) {
	packed, err := file.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, packed.Close()) }()
	plain, err := xz.NewReader(packed, 0)
	if err != nil {
		return err
	}

	return unpackTar(plain, dir)
}

// unpackTar writes the files of an archive into dir.
func unpackTar(plain io.Reader, dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()

	for entries := tar.NewReader(plain); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = unpackEntry(root, entry, entries)
		}
		if err != nil {
			return err
		}
	}
}

// unpackEntry makes one directory, file or symbolic link.
func unpackEntry(root *os.Root, entry *tar.Header, content io.Reader) (err error) {
	name := path.Clean(entry.Name)
	if entry.Typeflag == tar.TypeDir {
		return root.MkdirAll(name, 0o755)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	switch entry.Typeflag {
	case tar.TypeSymlink:
		return root.Symlink(entry.Linkname, name)
	case tar.TypeReg:
	default:
		return fmt.Errorf("%s: cannot unpack type %q", name, entry.Typeflag)
	}
	out, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, fs.FileMode(entry.Mode).Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, content)

	return err
}
