import { randomInt } from 'node:crypto';

/** One of several, drawn anew each time: a model can't answer from memory of an earlier exam. */
export function drawOne<T>(items: readonly T[]): T {
  return items[randomInt(items.length)] as T;
}

/** Several different ones, in a drawn order. */
export function drawSome<T>(items: readonly T[], count: number): T[] {
  const left = [...items];
  const drawn: T[] = [];
  while (drawn.length < count && left.length > 0) {
    drawn.push(...left.splice(randomInt(left.length), 1));
  }
  return drawn;
}

/** A whole number from `least` up to `most`. */
export function drawNumber(least: number, most: number): number {
  return randomInt(least, most + 1);
}

export const NAMES = [
  'Ana',
  'Ben',
  'Carla',
  'Dario',
  'Elin',
  'Farid',
  'Greta',
  'Hugo',
  'Ines',
  'Jonas',
  'Kaito',
  'Lena',
  'Mei',
  'Nadia',
  'Omar',
  'Petra',
  'Quim',
  'Rosa',
  'Samir',
  'Tilda',
  'Ulla',
  'Vera',
  'Wanda',
  'Yuki',
  'Zoe',
] as const;
export const CITIES = [
  'Porto',
  'Lyon',
  'Graz',
  'Oslo',
  'Turin',
  'Ghent',
  'Malmö',
  'Krakow',
  'Bilbao',
  'Cork',
  'Tampere',
  'Brno',
  'Izmir',
  'Kyoto',
  'Busan',
  'Leeds',
] as const;
export const DRINKS = [
  'tea',
  'coffee',
  'cocoa',
  'apple juice',
  'oat milk',
  'mineral water',
  'lemonade',
  'mate',
] as const;
export const FOODS = [
  'fish',
  'olives',
  'mushrooms',
  'cheese',
  'beans',
  'rice',
  'celery',
  'plums',
  'walnuts',
  'shrimps',
] as const;
export const PETS = ['dog', 'cat', 'parrot', 'rabbit', 'tortoise', 'pony'] as const;
export const JOBS = [
  'a baker',
  'a nurse',
  'a carpenter',
  'a surveyor',
  'a librarian',
  'a pilot',
  'a florist',
  'a tailor',
] as const;
export const SPORTS = [
  'chess',
  'rowing',
  'judo',
  'tennis',
  'climbing',
  'fencing',
  'archery',
] as const;
export const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;
