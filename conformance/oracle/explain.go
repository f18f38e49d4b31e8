package oracle

import (
	"bytes"

	"github.com/anishathalye/porcupine"
)

func visualize(model porcupine.Model, info porcupine.LinearizationInfo) ([]byte, error) {
	var page bytes.Buffer
	if err := porcupine.Visualize(model, info, &page); err != nil {
		return nil, err
	}
	return page.Bytes(), nil
}
