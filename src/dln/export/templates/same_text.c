static uint32_t §name(const char *a, const char *b)
{
  while ((*a == *b) && (*a != '\0')) {
    a++;
    b++;
  }
  return (uint32_t)(*a == *b);
}
