// Package scenarios lists the exhibits.
package scenarios

import (
	"github.com/leat-go/leat/docs/exhibits/exhibit"
	"github.com/leat-go/leat/docs/exhibits/scenarios/deduplicator"
	"github.com/leat-go/leat/docs/exhibits/scenarios/kafkadefaults"
	"github.com/leat-go/leat/docs/exhibits/scenarios/queueschema"
	"github.com/leat-go/leat/docs/exhibits/scenarios/serializable"
	"github.com/leat-go/leat/docs/exhibits/scenarios/skiplocked"
	"github.com/leat-go/leat/docs/exhibits/scenarios/xidorder"
	"github.com/leat-go/leat/docs/exhibits/scenarios/xminhorizon"
)

// All returns the exhibits in the order of the README.
func All() []exhibit.Exhibit {
	return []exhibit.Exhibit{
		deduplicator.Exhibit(), queueschema.Exhibit(), xidorder.Exhibit(),
		xminhorizon.Exhibit(), serializable.Exhibit(), skiplocked.Exhibit(), kafkadefaults.Exhibit(),
	}
}
