package card

import "reflect"

// Text is one text in both languages.
type Text struct{ Name, English, Chinese string }

// Texts are all texts.
func Texts() (out []Text) {
	en, zh := reflect.ValueOf(english), reflect.ValueOf(chinese)
	for i := range en.NumField() {
		if en.Field(i).Kind() == reflect.String {
			out = append(out, Text{en.Type().Field(i).Name, en.Field(i).String(), zh.Field(i).String()})
		}
	}
	for s, text := range english.States {
		out = append(out, Text{string(s), text, chinese.States[s]})
	}
	return out
}
