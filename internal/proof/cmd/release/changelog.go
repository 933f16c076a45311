package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

const unreleasedHeading = "## Unreleased\n"

// changes returns the changelog's section about the next release.
func (r *repo) changes() (before, changes, after string, err error) {
	text, err := os.ReadFile(r.file("CHANGELOG.md"))
	if err != nil {
		return "", "", "", err
	}
	before, rest, ok := strings.Cut(string(text), unreleasedHeading)
	if !ok {
		return "", "", "", fmt.Errorf("CHANGELOG.md has no heading %q: write one above the changes since the last release", strings.TrimSpace(unreleasedHeading))
	}
	if end := strings.Index(rest, "\n## "); end >= 0 {
		return before, rest[:end+1], rest[end+1:], nil
	}
	return before, rest, "", nil
}

// closeChangelog puts the changes since the last release under a heading for this one.
func (r *repo) closeChangelog(version string, at time.Time) error {
	before, changes, after, err := r.changes()
	if err != nil {
		return err
	}
	if strings.TrimSpace(changes) == "" {
		return fmt.Errorf("CHANGELOG.md has nothing below %q: write what changes", strings.TrimSpace(unreleasedHeading))
	}
	text := before + unreleasedHeading + "\n## " + version + " - " + at.Format(time.DateOnly) + "\n" + changes + after
	return os.WriteFile(r.file("CHANGELOG.md"), []byte(text), 0o644) //nolint:gosec // as git has it
}
