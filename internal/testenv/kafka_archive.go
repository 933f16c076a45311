package testenv

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// archiveName is the file of an archive's directory.
const archiveName = "kafka.jsa"

// archiveTimeout bounds the making of an archive, a broker's start included.
const archiveTimeout = 2 * time.Minute

// kafkaArchive returns the path of an archive of the classes that a broker loads (class
// data sharing), with which it starts in half the processor time. It is made once for
// each Java, by a broker that does nothing else. Without one, "", a broker only takes
// longer to start, and so it does if the archive turns out to be another Java's.
func kafkaArchive(ctx context.Context, b javaBinaries) string {
	sum := sha256.Sum256([]byte(b.java + b.build))
	dir := b.libs + "-classes-" + hex.EncodeToString(sum[:])[:10]
	path := filepath.Join(dir, archiveName)
	if err := once(ctx, dir, func(partial string) error {
		err := archiveClasses(ctx, b, filepath.Join(partial, archiveName))
		if err == nil || ctx.Err() != nil {
			return err
		}
		// What stays is an empty directory, so that nobody tries again.
		return errors.Join(os.RemoveAll(partial), os.Mkdir(partial, 0o755))
	}); err != nil {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}

	return path
}

// archiveClasses has a broker write the archive when it is told to stop.
func archiveClasses(ctx context.Context, b javaBinaries, path string) error {
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	profile := privateBroker()
	profile.exitArchive = path
	s, err := serve(ctx, "kafka", newKafkaServer(b, profile))
	if err != nil {
		return err
	}

	if err := errors.Join(s.proc.end(ctx, syscall.SIGTERM), s.close(context.WithoutCancel(ctx))); err != nil {
		return err
	}

	return checkArchive(ctx, b, path)
}

// checkArchive starts Java with the archive, which would end each broker if it were torn.
func checkArchive(ctx context.Context, b javaBinaries, path string) error {
	cmd := exec.CommandContext(ctx, b.java, "-cp", filepath.Join(b.libs, "*"),
		"-XX:SharedArchiveFile="+path, "-XX:+VerifySharedSpaces", "-XX:ErrorFile=/dev/null", "-version")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("testenv: archive of classes: %w\n%s", err, output)
	}

	return nil
}
