package embed_test

import (
	"regexp"
	"strings"
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
		{"12-34 612 345 678", "[number]"},
		{"600 12 34 56", "[number]"},
		{"600-12-34-56", "[number]"},
		{"600.12.34.56", "[number]"},
		{"600 12-34-56, por favor", "[number], por favor"},
		{"al (600) 12 34 56", "al ([number]"},
		{"91/234/56/78", "[number]"},
		{"600, 12, 34, 56. Gracias", "[number]. Gracias"},
		{"600 - 12 - 34 - 56", "[number]"},
		{"600–12–34–56", "[number]"},
		{"6 0 0 1 2 3 4 5 6", "[number]"},
		{"600\u200912\u200934\u200956", "[number]"},
		{"600\n12\n34\n56", "600\n12\n34\n56"}, // a list
		{"el 15/01/2026 10.00", "el 15/01/2026 10.00"},
		{"2026-01-15 10:00 a 2026-01-16", "2026-01-15 10:00 a 2026-01-16"},
		{"el 15.01.2026, 600 12 34 56", "el 15.01.2026, [number]"},
		{"1-2-20261 12 34", "[number]"}, // no date
		{"de 9,50 a 12,75", "de 9,50 a 12,75"},
		{"9,50, 12,75", "9,50, 12,75"},
		{"de 10.00-14.00 y 16.00-20.00", "de 10.00-14.00 y 16.00-20.00"},
		{"de 8:00 a 20:00", "de 8:00 a 20:00"},
		{"el 2026-01-15 o 15/01/2026", "el 2026-01-15 o 15/01/2026"},
		{"cuesta 1.250.000 €", "cuesta 1.250.000 €"},
		{"equipo AX-204", "equipo AX-204"},
		{"٠١٢٣٤٥", "[number]"},
		{"ana.perez+x@correo.example.es, por favor", "[email], por favor"},
		{"Ana @ correo.es", "[email]"},
		{"José@peñas.es", "[email]"},
		{"jose\u0301.nu\u0301ñez@correo.es", "[email]"},
		{"Zoë.Müller@straße.de", "[email]"},
		{"ana.pérez arroba correo punto es, gracias", "[email], gracias"},
		{"ana arroba correo.es", "[email]"},
		{"ann at example dot co dot uk", "[email]"},
		{"look at the dot", "look at the dot"},
		{"una arroba de aceite", "una arroba de aceite"},
		{"a las @ diez", "a las @ diez"},
		{"12345a@b.es6789", "[email]"},
		{"ES91 2100 0418 4502 0005 1332", "[iban]"},
		{"mi cuenta es9121000418450200051332 es esa", "mi cuenta [iban] es esa"},
		{"es91 2100 0418 4502 0005 1332", "[iban]"},
		{"es91.2100.0418.4502.0005.1332", "[iban]"},
		{"gb82 west 1234 5698 7654 32", "[iban]"},
		{"ES 91 2100 0418 4502 0005 1332", "ES [number]"},
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

// grouped is a number of nine digits and more in groups.
var grouped = regexp.MustCompile(`[0-9](?:[ ./-]?[0-9]){8,}`)

func FuzzMask(f *testing.F) {
	for _, seed := range []string{"", "123456", "1 2 3 4 5 6 7 8 9", "12345a@b.es67890", "ES91 2100 0418 4502 0005 1332", "12.345-678 90", "٠١٢٣٤٥", "600, 12-34 (56) 78", "15/01/2026 600 12 34 56", "a arroba b punto c", "0000000AA00000A000A0000", "AA00 0000 0000 0"} {
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
		for _, groups := range grouped.FindAllString(masked, -1) {
			if !strings.Contains(groups, "19") && !strings.Contains(groups, "20") { // no year of a date
				t.Fatalf("%q is masked as %q, with %q", text, masked, groups)
			}
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
