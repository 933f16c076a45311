package sqlstore

import (
	"context"
	"errors"
	"os"
)

// FileLock is a lock on a file. The operating system releases it when the process ends.
type FileLock struct{ file *os.File }

// errFileLocked is returned by LockFile while another process or caller has the lock.
var errFileLocked = errors.New("leat: file is locked")

// LockFile locks the file called name, which it creates with the permissions of the database file
// next to it. It does not wait. Two locks of one process exclude each other, too.
func LockFile(name, beside string) (*FileLock, error) {
	info, err := os.Stat(beside)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, info.Mode().Perm()) //nolint:gosec // next to the database
	if err != nil {
		return nil, err
	}
	l := &FileLock{file}
	if !l.Held() {
		return nil, errors.Join(errFileLocked, file.Close())
	}
	return l, nil
}

// Held reports whether the lock is still held, and takes it again if it is free.
func (l *FileLock) Held() bool { return lockFile(l.file) == nil }

// Unlock releases the lock. A nil FileLock has none. The file stays.
func (l *FileLock) Unlock() {
	if l != nil {
		_ = l.file.Close() // the lock is released in any case
	}
}

// File returns the name of the file of a SQLite database: "" if it is in memory.
func (s *Store) File(ctx context.Context, q Querier) (file string, err error) {
	err = q.QueryRowContext(ctx, s.SQL["database_file"]).Scan(&file)
	return file, err
}
