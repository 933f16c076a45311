package main

import (
	"os"
	"path/filepath"
)

// marker is a file by which the demo tells its services that something has happened.
type marker string

// stormMarker exists once the calm phase is over.
func stormMarker(dir string) marker { return marker(filepath.Join(dir, "storm")) }

// crashMarker exists once a relay was killed: one is enough.
func crashMarker(dir string) marker { return marker(filepath.Join(dir, "crashed")) }

// doomedMarker exists for an event that was the first of its partition in the storm.
func doomedMarker(dir, id string) marker { return marker(filepath.Join(dir, "doomed-"+id)) }

// put makes it exist.
func (m marker) put() error { return os.WriteFile(string(m), nil, 0o600) }

// set reports whether it exists.
func (m marker) set() bool {
	_, err := os.Stat(string(m))
	return err == nil
}
