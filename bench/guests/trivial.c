/* trivial: a program that does nothing: what is left is an engine's start and end. */
int main(void)
{
    return 0;
}
