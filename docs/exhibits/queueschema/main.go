// Command queueschema plays the exhibit of that name; see the README beside it.
package main

import (
	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/scenes/queueschema"
)

func main() { gallery.Main(queueschema.Exhibit()) }
