import { render } from "preact";
import { App } from "./app";
import { Control, tokenOfAddress } from "./control";
import "./style.css";

render(<App control={new Control(tokenOfAddress())} />, document.getElementById("page") as HTMLElement);
