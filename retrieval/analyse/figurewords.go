package analyse

import "strings"

// values are the number words of each language, folded.
var values = map[string]map[string]int{
	"es": count(`cero 0 un 1 uno 1 una 1 dos 2 tres 3 cuatro 4 cinco 5 seis 6 siete 7 ocho 8 nueve 9 diez 10 once 11
		doce 12 trece 13 catorce 14 quince 15 dieciseis 16 diecisiete 17 dieciocho 18 diecinueve 19 veinte 20
		veintiuno 21 veintiun 21 veintiuna 21 veintidos 22 veintitres 23 veinticuatro 24 veinticinco 25
		veintiseis 26 veintisiete 27 veintiocho 28 veintinueve 29 treinta 30 cuarenta 40 cincuenta 50 sesenta 60
		setenta 70 ochenta 80 noventa 90 cien 100 ciento 100 doscientos 200 doscientas 200 trescientos 300
		trescientas 300 cuatrocientos 400 cuatrocientas 400 quinientos 500 quinientas 500 seiscientos 600
		seiscientas 600 setecientos 700 setecientas 700 ochocientos 800 ochocientas 800 novecientos 900
		novecientas 900`),
	"en": count(`zero 0 oh 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 ten 10 eleven 11
		twelve 12 thirteen 13 fourteen 14 fifteen 15 sixteen 16 seventeen 17 eighteen 18 nineteen 19 twenty 20
		thirty 30 forty 40 fifty 50 sixty 60 seventy 70 eighty 80 ninety 90`),
	"pt": count(`zero 0 um 1 uma 1 dois 2 duas 2 tres 3 quatro 4 cinco 5 seis 6 meia 6 sete 7 oito 8 nove 9 dez 10
		onze 11 doze 12 treze 13 catorze 14 quatorze 14 quinze 15 dezesseis 16 dezasseis 16 dezessete 17
		dezassete 17 dezoito 18 dezenove 19 dezanove 19 vinte 20 trinta 30 quarenta 40 cinquenta 50 sessenta 60
		setenta 70 oitenta 80 noventa 90 cem 100 cento 100 duzentos 200 duzentas 200 trezentos 300 trezentas 300
		quatrocentos 400 quatrocentas 400 quinhentos 500 quinhentas 500 seiscentos 600 seiscentas 600
		setecentos 700 setecentas 700 oitocentos 800 oitocentas 800 novecentos 900 novecentas 900`),
	"fr": count(`zero 0 un 1 une 1 deux 2 trois 3 quatre 4 cinq 5 six 6 sept 7 huit 8 neuf 9 dix 10 onze 11 douze 12
		treize 13 quatorze 14 quinze 15 seize 16 vingt 20 trente 30 quarante 40 cinquante 50 soixante 60
		septante 70 huitante 80 octante 80 nonante 90 cent 100`),
	"de": count(`null 0 eins 1 eine 1 einen 1 zwei 2 zwo 2 drei 3 vier 4 funf 5 sechs 6 sieben 7 acht 8 neun 9
		zehn 10 elf 11 zwolf 12 dreizehn 13 vierzehn 14 funfzehn 15 sechzehn 16 siebzehn 17 achtzehn 18
		neunzehn 19 zwanzig 20 dreissig 30 vierzig 40 funfzig 50 sechzig 60 siebzig 70 achtzig 80 neunzig 90`),
	"it": italianValues(),
}

var (
	hundreds  = map[string][]string{"en": {"hundred"}, "fr": {"cent", "cents"}, "de": {"hundert"}, "it": {"cento"}}
	thousands = map[string][]string{
		"es": {"mil"}, "en": {"thousand"}, "pt": {"mil"}, "fr": {"mille"}, "de": {"tausend"}, "it": {"mille", "mila"},
	}
	ands = map[string][]string{
		"es": {"y"}, "en": {"and"}, "pt": {"e"}, "fr": {"et"}, "de": {"und"}, "it": {"e"},
	}
	// repeats say a digit more than once.
	repeats = map[string]map[string]int{
		"es": {"doble": 2, "triple": 3},
		"en": {"double": 2, "triple": 3, "treble": 3},
		"pt": {"duplo": 2, "triplo": 3},
		"fr": {"double": 2, "triple": 3},
		"de": {"doppel": 2},
		"it": {"doppio": 2, "triplo": 3},
	}
)

// count reads pairs of a word and its value.
func count(pairs string) map[string]int {
	m := make(map[string]int)
	fields := strings.Fields(pairs)
	for i := 0; i+1 < len(fields); i += 2 {
		value := 0
		for _, r := range fields[i+1] {
			value = value*10 + int(r-'0')
		}
		m[fields[i]] = value
	}
	return m
}

// italianValues writes out what Italian glues: ventuno, trentadue, duecento.
func italianValues() map[string]int {
	m := count(`zero 0 un 1 uno 1 una 1 due 2 tre 3 quattro 4 cinque 5 sei 6 sette 7 otto 8 nove 9 dieci 10
		undici 11 dodici 12 tredici 13 quattordici 14 quindici 15 sedici 16 diciassette 17 diciotto 18
		diciannove 19 venti 20 trenta 30 quaranta 40 cinquanta 50 sessanta 60 settanta 70 ottanta 80 novanta 90
		cento 100`)
	units := []string{"uno", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove"}
	for _, ten := range []string{"venti", "trenta", "quaranta", "cinquanta", "sessanta", "settanta", "ottanta", "novanta"} {
		for i, unit := range units {
			stem := ten
			if unit == "uno" || unit == "otto" {
				stem = ten[:len(ten)-1]
			}
			m[stem+unit] = m[ten] + i + 1
		}
	}
	for i, unit := range units[1:] {
		m[unit+"cento"] = (i + 2) * 100
	}
	return m
}
