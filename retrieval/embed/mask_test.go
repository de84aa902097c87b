package embed_test

import (
	"testing"
	"unicode"

	"headstart/retrieval/embed"
)

func TestMask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"¿a qué hora abren?", "¿a qué hora abren?"},
		{"el 12345 no", "el 12345 no"},
		{"el 123456 sí", "el [number] sí"},
		{"DNI 12345678Z", "DNI [number]Z"},
		{"llámame al 612345678", "llámame al [number]"},
		{"al 612 345 678, gracias", "al [number], gracias"},
		{"+34 612 34 56 78", "+[number]"},
		{"al 612-345-678.", "al [number]."},
		{"al 91.234.56.78", "al [number]"},
		{"6123\u00a0456\u00a0789 y 7", "[number] y 7"},
		{"123456 12", "[number] 12"},
		{"12 123456", "12 [number]"},
		{"12-34 612 345 678", "12-[number]"},
		{"de 10.00-14.00 y 16.00-20.00", "de 10.00-14.00 y 16.00-20.00"},
		{"de 8:00 a 20:00", "de 8:00 a 20:00"},
		{"el 2026-01-15 o 15/01/2026", "el 2026-01-15 o 15/01/2026"},
		{"cuesta 1.250.000 €", "cuesta 1.250.000 €"},
		{"equipo AX-204", "equipo AX-204"},
		{"٠١٢٣٤٥", "[number]"},
		{"ana.perez+x@correo.example.es, por favor", "[email], por favor"},
		{"Ana @ correo.es", "[email]"},
		{"José@peñas.es", "[email]"},
		{"a las @ diez", "a las @ diez"},
		{"12345a@b.es6789", "[email]"},
		{"ES91 2100 0418 4502 0005 1332", "[iban]"},
		{"mi cuenta es9121000418450200051332 es esa", "mi cuenta [iban] es esa"},
		{"GB82-WEST-1234-5698-7654-32", "[iban]"},
		{"FR14 2004 1010 0505 0001 3M02 606", "[iban]"},
		{"AX20 hola todo bien", "AX20 hola todo bien"},
		{"ES00 2100 0418 4502 0005 1332", "[iban]"}, // misheard, and still an account
	} {
		if got := embed.Mask(c.text); got != c.want {
			t.Errorf("%q is masked as %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzMask(f *testing.F) {
	for _, seed := range []string{"", "123456", "1 2 3 4 5 6 7 8 9", "12345a@b.es67890", "ES91 2100 0418 4502 0005 1332", "12.345-678 90", "٠١٢٣٤٥", "AA00 0000 0000 0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		masked := embed.Mask(text)
		digits := 0
		for _, r := range masked {
			if digits++; !unicode.IsDigit(r) {
				digits = 0
			}
			if digits >= 6 {
				t.Fatalf("%q is masked as %q", text, masked)
			}
		}
		if again := embed.Mask(masked); again != masked {
			t.Fatalf("%q is masked as %q, then as %q", text, masked, again)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	text := "Para pedir cita llame al 912 345 678 o escriba a citas@clinica.example de 8:00 a 20:00. "
	b.ReportAllocs()
	for b.Loop() {
		embed.Mask(text)
	}
}
