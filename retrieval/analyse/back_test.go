package analyse_test

import (
	"testing"

	"headstart/retrieval/analyse"
)

func TestPointsBack(t *testing.T) {
	t.Parallel()
	cases := []struct {
		language, text string
		want           bool
	}{
		{"es", "¿Y los sábados?", true},
		{"es", "¿Y eso cuánto cuesta?", true},
		{"es", "Vale, gracias, ¿y para los niños?", true},
		{"es", "¿Tienen también aparcamiento para motos grandes?", false},
		{"es-UY", "¿Hay que ir en ayunas a esa prueba?", true},
		{"es", "¿Puedo ir a la misma hora con mi hija?", true},
		{"es", "¿LO cubre mi seguro privado de empresa?", true},
		{"es", "Mi seguro es de Sanitas, ¿lo aceptan?", true},
		{"es", "¿Está abierto este mes el laboratorio?", false},
		{"es", "¿Cuánto cuesta una resonancia de rodilla?", false},
		{"es", "lunes y martes", false},
		{"es", "", false},
		{"en", "And on Saturdays?", true},
		{"en", "okay, and how long does it take?", true},
		{"en", "What about children under five?", true},
		{"en", "Is the doctor in on Mondays, and does she speak Spanish?", true},
		{"en", "Is the clinic open this week?", false},
		{"en", "Monday and Tuesday", false},
		{"fr", "et le samedi ?", false},
		{"", "y eso", false},
	}
	for _, c := range cases {
		if got := analyse.New(c.language).PointsBack(c.text); got != c.want {
			t.Fatalf("%s %q points back: %v, want %v", c.language, c.text, got, c.want)
		}
	}
}
