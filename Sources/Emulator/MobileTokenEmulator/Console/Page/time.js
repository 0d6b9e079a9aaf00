// Times as people say them; the exact one stands in the title. All follow the server's clock.

import { make } from "./dom.js";

let clock = { now: Date.now(), mode: "real", readAt: Date.now() };
let lostAt;  // since when nothing is heard of the server: its time stands still here

export const serverNow = () => clock.now + (clock.mode === "real" ? (lostAt ?? Date.now()) - clock.readAt : 0);

export function setLost(isLost) { lostAt = isLost ? lostAt ?? Date.now() : undefined; }

export const setServerTime = (now, mode) => { clock = { now, mode, readAt: Date.now() }; tick(); };

const times = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });
const dates = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short",
});
const days = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
export const timeOf = (date) => times.format(new Date(date));
export const dateOf = (date) => dates.format(new Date(date));

export const exactTime = (date) => `${timeOf(date)}.${String(new Date(date).getMilliseconds()).padStart(3, "0")}`;

export function span(milliseconds) {
  const seconds = milliseconds / 1000;
  if (seconds < 1) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (minutes < 60) return `${minutes} min`;
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}

function relative(date) {
  const past = serverNow() - date;
  if (Math.abs(past) < 1500) return "just now";
  if (past > 86400000) return days.format(date);
  const whole = span(Math.max(1000, Math.floor(Math.abs(past) / 1000) * 1000)).replace(".0", "");
  return past < 0 ? `in ${whole}` : `${whole} ago`;
}

function left(date) {
  const seconds = Math.max(0, Math.round((date - serverNow()) / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60)];
  if (hours >= 48) return `${Math.floor(hours / 24)} days left`;
  return hours ? `${hours} h ${minutes % 60} min left` : `${minutes}:${String(seconds % 60).padStart(2, "0")} left`;
}

const show = {
  within: (element, date) => left(date).replace(" left", ""),
  ago: (element, date) => relative(date),
  until: (element, date) => {
    element.classList.toggle("warn", date - serverNow() < 30000);
    return left(date);
  },
};

function refresh(element) {
  const text = show[element.dataset.time](element, Date.parse(element.dateTime));
  if (element.textContent !== text) element.textContent = text;
}

function timed(kind, date, attributes) {
  const element = make("time", { ...attributes, datetime: new Date(date).toISOString(), title: dateOf(date), "data-time": kind });
  refresh(element);
  return element;
}

export const ago = (date, attributes = {}) => timed("ago", date, attributes);

export const until = (date, attributes = {}) => timed("until", date, attributes);

export const within = (date) => timed("within", date);

export function tick() { document.querySelectorAll("[data-time]").forEach(refresh); }
