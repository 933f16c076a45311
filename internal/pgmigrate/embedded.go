package pgmigrate

import "io/fs"

// Embedded returns the directory "migrations" of files, as Set.FS has it.
func Embedded(files fs.FS) fs.FS {
	return embedded{files}
}

type embedded struct {
	files fs.FS
}

// Open implements fs.FS.
func (e embedded) Open(name string) (fs.File, error) {
	sub, err := fs.Sub(e.files, "migrations")
	if err != nil {
		return nil, err
	}
	return sub.Open(name)
}
