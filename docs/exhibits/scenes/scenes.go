// Package scenes lists the exhibits.
package scenes

import (
	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/scenes/deduplicator"
	"github.com/leat-go/leat/docs/exhibits/scenes/kafkadefaults"
	"github.com/leat-go/leat/docs/exhibits/scenes/queueschema"
	"github.com/leat-go/leat/docs/exhibits/scenes/skiplocked"
	"github.com/leat-go/leat/docs/exhibits/scenes/xidorder"
	"github.com/leat-go/leat/docs/exhibits/scenes/xminhorizon"
)

// All returns the exhibits in the order of the README.
func All() []gallery.Exhibit {
	return []gallery.Exhibit{
		deduplicator.Exhibit(), queueschema.Exhibit(), xidorder.Exhibit(),
		xminhorizon.Exhibit(), skiplocked.Exhibit(), kafkadefaults.Exhibit(),
	}
}
